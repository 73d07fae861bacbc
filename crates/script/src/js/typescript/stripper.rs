//! Which parts of a script are types: a walk over its syntax tree that collects the spans to blank,
//! and refuses what is more than a type.

use std::collections::HashSet;

use oxc_ast::ast::{
    ArrowFunctionExpression, Class, ClassElement, Declaration, ExportAllDeclaration,
    ExportDefaultDeclaration, ExportDefaultDeclarationKind, ExportFromDeclaration,
    ExportNamedDeclaration, ExportSpecifier, FormalParameter, IdentifierReference,
    ImportDeclaration, ImportDeclarationSpecifier, ImportOrExportKind, MethodDefinitionType,
    PropertyDefinitionType, PropertyKey, Statement, TSAsExpression, TSNonNullExpression,
    TSSatisfiesExpression, TSThisParameter, TSType, TSTypeAnnotation, TSTypeAssertion,
    TSTypeParameterDeclaration, TSTypeParameterInstantiation, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};

use super::Wrong;

/// The words before a member of a class that belong to its type.
const MODIFIERS: [&str; 7] =
    ["public", "private", "protected", "readonly", "override", "abstract", "declare"];

/// Collects what is to be blank.
pub(super) struct Stripper<'t> {
    text: &'t str,
    blanks: Vec<Span>,
    /// Bytes that become another character than a blank.
    marks: Vec<(u32, char)>,
    /// Names that are declared as types, and not as values too.
    types: HashSet<String>,
    /// Names that values use.
    used: HashSet<String>,
    /// Where statements without a semicolon end.
    open_ends: HashSet<u32>,
    pub wrong: Option<Wrong>,
}

impl<'t> Stripper<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            blanks: Vec::new(),
            marks: Vec::new(),
            types: HashSet::new(),
            used: HashSet::new(),
            open_ends: HashSet::new(),
            wrong: None,
        }
    }

    /// Takes down which names of a module are types alone.
    pub(super) fn learn(&mut self, body: &[Statement<'_>]) {
        let mut values = HashSet::new();
        for statement in body {
            let declaration = match statement {
                Statement::ExportDeclaration(export) => Some(&export.declaration),
                _ => statement.as_declaration(),
            };
            match declaration {
                Some(Declaration::TSInterfaceDeclaration(it)) => {
                    self.types.insert(it.id.name.to_string());
                }
                Some(Declaration::TSTypeAliasDeclaration(it)) => {
                    self.types.insert(it.id.name.to_string());
                }
                Some(Declaration::FunctionDeclaration(it)) => {
                    values.extend(it.id.iter().map(|id| id.name.to_string()));
                }
                Some(Declaration::ClassDeclaration(it)) => {
                    values.extend(it.id.iter().map(|id| id.name.to_string()));
                }
                Some(Declaration::VariableDeclaration(it)) => {
                    let names =
                        it.declarations.iter().flat_map(|one| one.id.get_binding_identifiers());
                    values.extend(names.map(|id| id.name.to_string()));
                }
                _ => {}
            }
        }
        self.types.retain(|name| !values.contains(name));
    }

    pub(super) fn finish(mut self) -> String {
        self.blanks.sort_by_key(|span| (span.start, span.end));
        self.marks.sort_unstable();
        let mut blanks = self.blanks.iter().peekable();
        let mut marks = self.marks.iter().peekable();
        let mut end = 0;
        let mut stripped = String::with_capacity(self.text.len());
        for (at, letter) in self.text.char_indices() {
            let at = at as u32;
            while let Some(span) = blanks.next_if(|span| span.start <= at) {
                end = end.max(span.end);
            }
            let mark = marks.next_if(|(marked, _)| *marked == at);
            while marks.next_if(|(marked, _)| *marked <= at).is_some() {}
            let is_break = matches!(letter, '\n' | '\r' | '\u{2028}' | '\u{2029}');
            stripped.push(match mark {
                Some((_, mark)) => *mark,
                None if at < end && !is_break => ' ',
                None => letter,
            });
        }
        stripped
    }

    fn blank(&mut self, start: u32, end: u32) {
        if start < end {
            self.blanks.push(Span::new(start, end));
        }
    }

    fn refuse(&mut self, span: Span, what: &str) {
        let message = format!("{what} not supported in TypeScript: they need generated code");
        self.wrong.get_or_insert((span.start as usize, message));
    }

    fn slice(&self, start: u32, end: u32) -> &'t str {
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Blanks the first of some characters that stands between two places, outside of comments.
    fn blank_character(&mut self, start: u32, end: u32, characters: &[char]) {
        let found = code_of(self.slice(start, end)).find(|(_, letter)| characters.contains(letter));
        if let Some((at, letter)) = found {
            self.blank(start + at, start + at + letter.len_utf8() as u32);
        }
    }

    /// Blanks something in a list, with the comma after it.
    fn blank_listed(&mut self, span: Span) {
        let rest = self.slice(span.end, self.text.len() as u32);
        let next = code_of(rest).find(|(_, letter)| !letter.is_whitespace());
        let comma = next.filter(|(_, letter)| *letter == ',').map_or(0, |(at, _)| at + 1);
        self.blank(span.start, span.end + comma);
    }

    /// Blanks a type at the end of an expression. Where a statement ended there without a
    /// semicolon, what follows might go on with it.
    fn blank_tail(&mut self, start: u32, end: u32) {
        self.blank(start, end);
        if self.open_ends.contains(&end) {
            self.marks.push((start, ';'));
        }
    }

    pub(super) fn strip_import(&mut self, import: &ImportDeclaration<'_>) {
        let Some(specifiers) = &import.specifiers else { return };
        let is_used = |specifier: &ImportDeclarationSpecifier<'_>| {
            let is_type = matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(it)
                if it.import_kind == ImportOrExportKind::Type);
            !is_type && self.used.contains(specifier.local().name.as_str())
        };
        let unused: Vec<Span> =
            specifiers.iter().filter(|it| !is_used(it)).map(GetSpan::span).collect();
        let is_type = import.import_kind == ImportOrExportKind::Type;
        if is_type || (!specifiers.is_empty() && unused.len() == specifiers.len()) {
            self.blank(import.span.start, import.span.end);
            return;
        }
        // Of a default beside a list, the comma between them goes too.
        for span in unused {
            self.blank_listed(span);
        }
    }

    /// Blanks the words of a member that belong to its type.
    fn strip_modifiers(&mut self, start: u32, key_start: u32) {
        let text = self.slice(start, key_start);
        let mut at = 0;
        for word in text.split_inclusive(|letter: char| !letter.is_ascii_alphabetic()) {
            let bare = word.trim_end_matches(|letter: char| !letter.is_ascii_alphabetic());
            if MODIFIERS.contains(&bare) {
                self.blank(start + at, start + at + bare.len() as u32);
            }
            at += word.len() as u32;
        }
        // The member before may lack its semicolon, and would go on with a bracket or a star.
        let first = text.trim_start();
        let is_modified = MODIFIERS.iter().any(|word| first.starts_with(word));
        if is_modified && text.trim_end().ends_with(['[', '*']) {
            self.marks.push((start, ';'));
        }
    }

    /// Blanks what follows the key of a member: `?` or `!`.
    fn strip_after_key(&mut self, key: &PropertyKey<'_>, end: u32) {
        self.blank_character(key.span().end, end, &['?', '!']);
    }

    fn member_is_type(element: &ClassElement<'_>) -> bool {
        match element {
            ClassElement::TSIndexSignature(_) => true,
            ClassElement::MethodDefinition(it) => {
                it.r#type == MethodDefinitionType::TSAbstractMethodDefinition
                    || it.value.body.is_none()
            }
            ClassElement::PropertyDefinition(it) => {
                it.declare || it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition
            }
            _ => false,
        }
    }

    fn declaration_is_type(declaration: &Declaration<'_>) -> bool {
        match declaration {
            Declaration::TSTypeAliasDeclaration(_)
            | Declaration::TSInterfaceDeclaration(_)
            | Declaration::TSGlobalDeclaration(_)
            | Declaration::TSExternalModuleDeclaration(_) => true,
            Declaration::VariableDeclaration(it) => it.declare,
            Declaration::FunctionDeclaration(it) => it.declare || it.body.is_none(),
            Declaration::ClassDeclaration(it) => it.declare,
            Declaration::TSEnumDeclaration(it) => it.declare,
            Declaration::TSNamespaceDeclaration(it) => it.declare,
            Declaration::TSImportEqualsDeclaration(it) => {
                it.import_kind == ImportOrExportKind::Type
            }
        }
    }

    /// Refuses a declaration that generates code.
    fn refuse_generating(&mut self, declaration: &Declaration<'_>) {
        match declaration {
            Declaration::TSEnumDeclaration(it) => self.refuse(it.span, "enums are"),
            Declaration::TSNamespaceDeclaration(it) => self.refuse(it.span, "namespaces are"),
            Declaration::TSImportEqualsDeclaration(it) => {
                self.refuse(it.span, "imports with '=' are");
            }
            _ => {}
        }
    }
}

/// The characters of a text that are not in comments, with their places.
fn code_of(text: &str) -> impl Iterator<Item = (u32, char)> {
    let mut rest_of_comment: Option<&str> = None;
    text.char_indices().filter_map(move |(at, letter)| {
        let here = &text[at..];
        if let Some(end) = rest_of_comment {
            if here.starts_with(end) {
                rest_of_comment = None;
            }
            return None;
        }
        if here.starts_with("//") || here.starts_with("/*") {
            rest_of_comment = Some(if here.starts_with("//") { "\n" } else { "/" });
            // The slash that ends a comment comes after a star; the one that opens it does not.
            if here.starts_with("/*/") {
                rest_of_comment = Some("*/");
            }
            return None;
        }
        Some((at as u32, letter))
    })
}

impl<'a> Visit<'a> for Stripper<'_> {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.used.insert(it.name.to_string());
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        let span = it.span();
        if !self.slice(span.start, span.end).ends_with([';', '}']) {
            self.open_ends.insert(span.end);
        }
        if let Some(declaration) = it.as_declaration() {
            if Self::declaration_is_type(declaration) {
                self.blank(span.start, span.end);
                return;
            }
            self.refuse_generating(declaration);
        }
        match it {
            Statement::ImportDeclaration(_) => {}
            Statement::ExportDeclaration(export)
                if Self::declaration_is_type(&export.declaration) =>
            {
                self.blank(span.start, span.end);
            }
            Statement::ExportDeclaration(export) => {
                self.refuse_generating(&export.declaration);
                walk::walk_statement(self, it);
            }
            Statement::TSExportAssignment(export) => {
                self.refuse(export.span, "exports with '=' are");
            }
            Statement::TSNamespaceExportDeclaration(_) => self.blank(span.start, span.end),
            _ => walk::walk_statement(self, it),
        }
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            self.blank(it.span.start, it.span.end);
            return;
        }
        for specifier in &it.specifiers {
            if self.types.contains(specifier.local.name().as_str()) {
                self.blank_listed(specifier.span);
            }
        }
        walk::walk_export_named_declaration(self, it);
    }

    fn visit_export_from_declaration(&mut self, it: &ExportFromDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            self.blank(it.span.start, it.span.end);
        } else {
            walk::walk_export_from_declaration(self, it);
        }
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            self.blank(it.span.start, it.span.end);
        }
    }

    fn visit_export_specifier(&mut self, it: &ExportSpecifier<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            self.blank_listed(it.span);
        } else {
            walk::walk_export_specifier(self, it);
        }
    }

    fn visit_export_default_declaration(&mut self, it: &ExportDefaultDeclaration<'a>) {
        let is_type = match &it.declaration {
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => true,
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => function.body.is_none(),
            _ => false,
        };
        if is_type {
            self.blank(it.span.start, it.span.end);
        } else {
            walk::walk_export_default_declaration(self, it);
        }
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            let end = it.type_annotation.as_ref().map_or(it.span.end, |it| it.span.start);
            self.blank_character(it.id.span().end, end, &['!']);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        if let Some(returns) = &it.return_type
            && self.slice(returns.span.start, returns.span.end).contains('\n')
        {
            // No line may end between the parameters and the arrow, so the parenthesis moves.
            let close = it.params.span.end - 1;
            self.blank(close, close + 1);
            self.marks.push((returns.span.end - 1, ')'));
        }
        walk::walk_arrow_function_expression(self, it);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            self.refuse(it.span, "parameter properties are");
        }
        if it.optional {
            let end = it.type_annotation.as_ref().map_or(it.span.end, |it| it.span.start);
            self.blank_character(it.pattern.span().end, end, &['?']);
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank_listed(it.span);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.r#abstract {
            let rest = self.slice(it.span.start, it.body.span.start);
            if let Some(at) = rest.find("abstract") {
                let start = it.span.start + at as u32;
                self.blank(start, start + "abstract".len() as u32);
            }
        }
        if let (Some(first), Some(last)) = (it.implements.first(), it.implements.last()) {
            let before = self.slice(it.span.start, first.span.start);
            if let Some(at) = before.rfind("implements") {
                self.blank(it.span.start + at as u32, last.span.end);
            }
        }
        walk::walk_class(self, it);
    }

    fn visit_ts_class_implements_list(
        &mut self,
        _: &oxc_allocator::ArenaVec<'a, oxc_ast::ast::TSClassImplements<'a>>,
    ) {
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        let span = it.span();
        if Self::member_is_type(it) {
            self.blank(span.start, span.end);
            return;
        }
        if !self.slice(span.start, span.end).ends_with([';', '}']) {
            self.open_ends.insert(span.end);
        }
        let after = |decorators: &[oxc_ast::ast::Decorator<'_>]| {
            decorators.last().map_or(span.start, |last| last.span.end)
        };
        match it {
            ClassElement::MethodDefinition(member) => {
                let start = after(&member.decorators);
                self.strip_modifiers(start, member.key.span().start);
                if member.optional {
                    self.strip_after_key(&member.key, member.value.params.span.start);
                }
            }
            ClassElement::PropertyDefinition(member) => {
                let start = after(&member.decorators);
                self.strip_modifiers(start, member.key.span().start);
                if member.optional || member.definite {
                    let typed = member.type_annotation.as_ref().map(|it| it.span.start);
                    self.strip_after_key(&member.key, typed.unwrap_or(span.end));
                }
            }
            ClassElement::AccessorProperty(member) => {
                let start = after(&member.decorators);
                self.strip_modifiers(start, member.key.span().start);
            }
            _ => {}
        }
        walk::walk_class_element(self, it);
    }

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type(&mut self, _: &TSType<'a>) {}

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.blank_tail(it.expression.span().end, it.span.end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.blank_tail(it.expression.span().end, it.span.end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.blank_character(it.expression.span().end, it.span.end, &['!']);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        let start = it.expression.span().start;
        if self.slice(it.span.start, start).contains('\n') {
            self.refuse(it.span, "type assertions with line breaks are");
        }
        self.blank(it.span.start, start);
        self.visit_expression(&it.expression);
    }
}
