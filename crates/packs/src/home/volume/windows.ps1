# Reads and sets the volume of the default output of Windows, by its Core Audio interfaces.
# Writes the volume in percent and whether it is muted: "40 False".
Add-Type -Language CSharp -TypeDefinition @'
using System;
using System.Runtime.InteropServices;

[Guid("5CDF2C82-841E-4546-9722-0CF74078229A"), InterfaceType(ComInterfaceType.InterfaceIsIUnknown)]
interface IAudioEndpointVolume {
    int RegisterControlChangeNotify(IntPtr notify);
    int UnregisterControlChangeNotify(IntPtr notify);
    int GetChannelCount(out uint count);
    int SetMasterVolumeLevel(float decibels, ref Guid context);
    int SetMasterVolumeLevelScalar(float level, ref Guid context);
    int GetMasterVolumeLevel(out float decibels);
    int GetMasterVolumeLevelScalar(out float level);
    int SetChannelVolumeLevel(uint channel, float decibels, ref Guid context);
    int SetChannelVolumeLevelScalar(uint channel, float level, ref Guid context);
    int GetChannelVolumeLevel(uint channel, out float decibels);
    int GetChannelVolumeLevelScalar(uint channel, out float level);
    int SetMute([MarshalAs(UnmanagedType.Bool)] bool muted, ref Guid context);
    int GetMute([MarshalAs(UnmanagedType.Bool)] out bool muted);
}

[Guid("D666063F-1587-4E43-81F1-B948E807363F"), InterfaceType(ComInterfaceType.InterfaceIsIUnknown)]
interface IMMDevice {
    int Activate(ref Guid id, int context, IntPtr parameters, [MarshalAs(UnmanagedType.IUnknown)] out object endpoint);
}

[Guid("A95664D2-9614-4F35-A746-DE8DB63617E6"), InterfaceType(ComInterfaceType.InterfaceIsIUnknown)]
interface IMMDeviceEnumerator {
    int EnumAudioEndpoints(int flow, int mask, IntPtr devices);
    int GetDefaultAudioEndpoint(int flow, int role, out IMMDevice device);
}

[ComImport, Guid("BCDE0395-E52F-467C-8E3D-C4579291692E")]
class MMDeviceEnumerator { }

public static class Output {
    static IAudioEndpointVolume Endpoint() {
        IMMDevice device;
        var all = (IMMDeviceEnumerator)(new MMDeviceEnumerator());
        Marshal.ThrowExceptionForHR(all.GetDefaultAudioEndpoint(0, 1, out device));
        var id = typeof(IAudioEndpointVolume).GUID;
        object endpoint;
        Marshal.ThrowExceptionForHR(device.Activate(ref id, 23, IntPtr.Zero, out endpoint));
        return (IAudioEndpointVolume)endpoint;
    }

    public static void SetVolume(int percent) {
        var none = Guid.Empty;
        Marshal.ThrowExceptionForHR(Endpoint().SetMasterVolumeLevelScalar(percent / 100f, ref none));
    }

    public static void SetMuted(bool muted) {
        var none = Guid.Empty;
        Marshal.ThrowExceptionForHR(Endpoint().SetMute(muted, ref none));
    }

    public static string Tell() {
        float level;
        bool muted;
        var endpoint = Endpoint();
        Marshal.ThrowExceptionForHR(endpoint.GetMasterVolumeLevelScalar(out level));
        Marshal.ThrowExceptionForHR(endpoint.GetMute(out muted));
        return Math.Round(level * 100).ToString() + " " + muted.ToString();
    }
}
'@
