//! What a statement does, agreed on by every dialect that can read it.
//!
//! Nothing is taken to be harmless for not being known: expressions, tables, operators and functions are each on a
//! list of those that only read. A statement is bounded before it is parsed, because its tree is as deep as it has
//! operators in a row.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Insert, ObjectName, Query, Select, Statement, TableFactor, TableObject, Visit,
    Visitor,
};
use sqlparser::dialect::{
    AnsiDialect, BigQueryDialect, ClickHouseDialect, DatabricksDialect, Dialect, DuckDbDialect,
    GenericDialect, HiveDialect, MsSqlDialect, MySqlDialect, OracleDialect, PostgreSqlDialect,
    RedshiftSqlDialect, SQLiteDialect, SnowflakeDialect,
};
use sqlparser::parser::Parser;

use crate::hazard::lists::Lists;
use crate::tool::Effect;

/// Parentheses within parentheses that are followed.
const NESTING: usize = 12;
/// Operators and keywords that may build a tree of that depth.
const OPERATORS: usize = 160;
/// Parts of names and elements of lists. They build nothing deep, but each is looked at by every dialect.
const PARTS: usize = 600;
/// Returns what a statement does, where it reads or only adds and every dialect that can read it agrees.
pub(super) fn effect(statement: &str) -> Option<Effect> {
    if !is_bounded(statement) {
        return None;
    }
    let dialects: [&dyn Dialect; 14] = [
        &GenericDialect {},
        &AnsiDialect {},
        &PostgreSqlDialect {},
        &MySqlDialect {},
        &SQLiteDialect {},
        &MsSqlDialect {},
        &DuckDbDialect {},
        &BigQueryDialect {},
        &SnowflakeDialect,
        &ClickHouseDialect {},
        &RedshiftSqlDialect {},
        &OracleDialect {},
        &HiveDialect {},
        &DatabricksDialect {},
    ];
    let mut agreed = None;
    for dialect in dialects {
        let Some(parsed) = parse(dialect, statement) else { continue };
        let [statement] = parsed.as_slice() else { return None };
        let effect = effect_of(statement)?;
        if agreed.is_some_and(|agreed| agreed != effect) {
            return None;
        }
        agreed = Some(effect);
    }
    agreed
}

/// Whether a text can be read as statements at all.
pub(super) fn is_readable(text: &str) -> bool {
    is_bounded(text) && parse(&GenericDialect {}, text).is_some_and(|it| !it.is_empty())
}

fn parse(dialect: &dyn Dialect, statement: &str) -> Option<Vec<Statement>> {
    let parser = Parser::new(dialect).with_recursion_limit(2 * NESTING + 16);
    parser.try_with_sql(statement).ok()?.parse_statements().ok()
}

/// Whether a statement is flat enough to be parsed and walked on any thread.
fn is_bounded(statement: &str) -> bool {
    let (mut depth, mut deepest, mut operators, mut parts) = (0_usize, 0_usize, 0_usize, 0_usize);
    for c in statement.chars() {
        parts += usize::from(matches!(c, '.' | '['));
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '+' | '-' | '*' | '/' | '%' | '|' | '=' | '<' | '>' | '!' | ':' | '~' | '@' | '?' => {
                operators += 1
            }
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    let is_link = |word: &&str| Lists::builtin().sql_links.contains(&word.to_lowercase());
    operators += statement.split(|c: char| !c.is_alphanumeric() && c != '_').filter(is_link).count();
    deepest <= NESTING && operators <= OPERATORS && parts <= PARTS
}

fn effect_of(statement: &Statement) -> Option<Effect> {
    let read = |query: &Query| query.visit(&mut OnlyReads).is_continue().then_some(Effect::Read);
    if let Statement::Query(query) = statement {
        read(query)
    } else if let Statement::Explain { statement, .. } = statement {
        // Where it is also run, it is still a query.
        if let Statement::Query(query) = &**statement { read(query) } else { None }
    } else if let Statement::Insert(insert) = statement {
        only_adds(insert).then_some(Effect::Write)
    } else {
        None
    }
}

fn only_adds(insert: &Insert) -> bool {
    let keeps_what_is_there = insert.or.is_none()
        && insert.on.is_none()
        && !insert.overwrite
        && !insert.replace_into
        && insert.partitioned.is_none()
        && insert.multi_table_insert_type.is_none()
        && insert.assignments.is_empty()
        && insert.settings.is_none();
    let is_table = matches!(&insert.table, TableObject::TableName(_));
    let source = insert.source.as_ref();
    let returned = insert.returning.as_ref();
    keeps_what_is_there
        && is_table
        && source.is_some_and(|source| source.visit(&mut OnlyReads).is_continue())
        && returned.is_none_or(|items| items.visit(&mut OnlyReads).is_continue())
}

/// Walks through a query and stops at the first thing that is not known to only read.
struct OnlyReads;

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

fn known(is_known: bool) -> ControlFlow<()> {
    if is_known { GO_ON } else { ControlFlow::Break(()) }
}

impl Visitor for OnlyReads {
    type Break = ();

    /// A statement within a query, such as `DELETE` in a common table expression.
    fn pre_visit_statement(&mut self, _: &Statement) -> ControlFlow<()> {
        known(false)
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        known(query.locks.is_empty() && query.settings.is_none() && query.pipe_operators.is_empty())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        known(select.into.is_none() && select.optimizer_hints.is_empty())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        let is_hint = |hint: &Expr| matches!(hint, Expr::Identifier(name) if Lists::builtin().sql_hints.contains(&name.value.to_lowercase()));
        if let TableFactor::Table { name, args, with_hints, .. } = table {
            let is_called = args.as_ref().is_none_or(|args| args.settings.is_none() && is_pure(name));
            return known(is_called && with_hints.iter().all(is_hint));
        }
        if let TableFactor::Function { name, .. } = table {
            return known(is_pure(name));
        }
        known(matches!(
            table,
            TableFactor::Derived { .. }
                | TableFactor::TableFunction { .. }
                | TableFactor::UNNEST { .. }
                | TableFactor::JsonTable { .. }
                | TableFactor::NestedJoin { .. }
                | TableFactor::Pivot { .. }
                | TableFactor::Unpivot { .. }
        ))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            return known(is_pure(&function.name) && !function.uses_odbc_syntax);
        }
        if let Expr::BinaryOp { op, .. } = expr {
            let is_own = matches!(op, BinaryOperator::Custom(_) | BinaryOperator::PGCustomBinaryOperator(_));
            return known(!is_own);
        }
        known(is_value(expr))
    }
}

/// Whether an expression only names, combines or converts values.
fn is_value(expr: &Expr) -> bool {
    let is_named = matches!(
        expr,
        Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::CompoundFieldAccess { .. }
            | Expr::JsonAccess { .. }
            | Expr::Value(_)
            | Expr::Prefixed { .. }
            | Expr::TypedString(_)
            | Expr::Interval(_)
            | Expr::Wildcard(_)
            | Expr::QualifiedWildcard(..)
            | Expr::Array(_)
            | Expr::Map(_)
            | Expr::Dictionary(_)
            | Expr::Struct { .. }
            | Expr::Tuple(_)
            | Expr::Named { .. }
            | Expr::Nested(_)
    );
    let is_compared = matches!(
        expr,
        Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::InList { .. }
            | Expr::InSubquery { .. }
            | Expr::InUnnest { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::ILike { .. }
            | Expr::SimilarTo { .. }
            | Expr::RLike { .. }
            | Expr::AnyOp { .. }
            | Expr::AllOp { .. }
            | Expr::UnaryOp { .. }
            | Expr::Exists { .. }
            | Expr::Subquery(_)
            | Expr::Case { .. }
    );
    let is_built_in = matches!(
        expr,
        Expr::Convert { .. }
            | Expr::Cast { .. }
            | Expr::AtTimeZone { .. }
            | Expr::Extract { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. }
            | Expr::Position { .. }
            | Expr::Substring { .. }
            | Expr::Trim { .. }
            | Expr::Overlay { .. }
            | Expr::Collate { .. }
            | Expr::GroupingSets(_)
            | Expr::Cube(_)
            | Expr::Rollup(_)
            | Expr::MatchAgainst { .. }
    );
    is_named || is_compared || is_built_in
}

/// Whether a function is one of a database itself that has no effects. One of a schema may be anybody's.
fn is_pure(name: &ObjectName) -> bool {
    let [part] = name.0.as_slice() else { return false };
    let is_known =
        |name: &str| name.is_ascii() && Lists::builtin().sql_functions.contains(&name.to_lowercase());
    part.as_ident().is_some_and(|name| name.quote_style.is_none() && is_known(&name.value))
}
