//! What a program consists of, whatever its language: expressions, variables, functions, calls.

use crate::reading::Problems;
use foldhash::{HashMap, HashSet};
use std::rc::Rc;

/// An expression, as far as its value can matter to an effect.
#[derive(Debug, Clone)]
pub enum Expression {
    /// A value that nobody knows.
    Unknown,
    /// A value without effect if it is called: a number, an object of the program.
    Plain,
    /// `undefined`, for which a default stands in.
    Absent,
    /// The object whose method runs, in a class that extends none.
    This,
    Truth(bool),
    Text(Rc<str>),
    /// Parts that are joined to one text.
    Join(Vec<Expression>),
    List(Vec<Expression>),
    /// Keys and values; the key of a spread object is [`Expression::Spread`].
    Record(Vec<(Expression, Expression)>),
    /// An object or list whose members become part of another.
    Spread(Box<Expression>),
    /// An index of [`Program::variables`].
    Variable(usize),
    /// A name that the program does not declare, or a module outside the program.
    Outside(Rc<str>),
    /// All exports of a file: an index of [`Program::units`].
    Unit(usize),
    /// An export of a file.
    Export(usize, Rc<str>),
    /// The member of an object with this key.
    Member(Box<Expression>, Box<Expression>),
    /// Any element of a list.
    Element(Box<Expression>),
    /// The elements of a list from a position on.
    Tail(Box<Expression>, usize),
    /// A value that has a default: what it is if it is not absent.
    Given(Box<Expression>),
    /// One of these values.
    Either(Vec<Expression>),
    /// An index of [`Program::functions`].
    Function(usize),
    /// The result of a call: an index of [`Program::calls`].
    Call(usize),
}

impl Expression {
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub fn member(object: Self, key: &str) -> Self {
        Self::Member(Box::new(object), Box::new(Self::text(key)))
    }
}

/// A call of a function, constructor or method.
#[derive(Debug)]
pub struct Call {
    pub callee: Expression,
    pub arguments: Vec<Expression>,
    /// The file in which it stands.
    pub unit: usize,
}

/// A function of the program.
#[derive(Debug, Default)]
pub struct Function {
    /// The variables of its parameters, in order.
    pub parameters: Vec<usize>,
    /// Whether the last parameter takes all further arguments.
    pub rest: bool,
    pub returns: Vec<Expression>,
    /// Whether it is a class: a call makes an object.
    pub class: bool,
}

/// A file of the program.
#[derive(Debug, Default)]
pub struct Unit {
    /// Its absolute path; empty for source without a file.
    pub path: String,
    pub exports: HashMap<String, Vec<Expression>>,
    /// Files whose exports it exports, too.
    pub passes: Vec<usize>,
}

/// A list with elements that nobody knows.
#[derive(Debug)]
pub struct SomeList(pub Expression);

impl Default for SomeList {
    fn default() -> Self {
        Self(Expression::List(vec![Expression::Unknown]))
    }
}

/// A program with the files of its own that it loads.
#[derive(Debug, Default)]
pub struct Program {
    pub units: Vec<Unit>,
    /// Paths of modules and other files in JSON.
    pub settings: Vec<String>,
    /// A list of which nothing is known.
    pub some: SomeList,
    /// The values of files in JSON, by the path with which the program reads them.
    pub data: HashMap<String, Expression>,
    /// Everything that a variable may hold, whatever the order in which the program runs.
    pub variables: Vec<Vec<Expression>>,
    pub functions: Vec<Function>,
    pub calls: Vec<Call>,
    /// Variables that hold everything that members of objects may hold, by key; an empty key: any member.
    pub fields: HashMap<String, Expression>,
    /// Keys of all object literals; an empty one: a key that is not constant.
    pub keys: HashSet<String>,
    /// Methods of classes and objects, by name.
    pub methods: HashMap<String, Vec<usize>>,
    /// Objects, keys and values of the members that are assigned.
    pub assigned: Vec<(Expression, Expression, Expression)>,
    /// Methods of classes that extend a class outside the program, which may call them.
    pub overrides: Vec<usize>,
    /// Values that are handed to where they are not followed.
    pub escapes: Vec<Expression>,
    /// Texts that are assigned to variables of the environment: name and value.
    pub environment: Vec<(Expression, Expression)>,
    /// Whether it writes to the input of programs that it starts.
    pub pipes: bool,
    /// Whether a function looks at its arguments without parameters.
    pub uses_arguments: bool,
    /// Why the program is not read completely.
    pub problems: Problems,
}

impl Program {
    pub fn variable(&mut self) -> usize {
        self.variables.push(Vec::new());
        self.variables.len() - 1
    }

    pub fn assign(&mut self, variable: usize, value: Expression) {
        if let Some(values) = self.variables.get_mut(variable) {
            values.push(value);
        }
    }

    /// Assigns a member of any object.
    pub fn assign_field(&mut self, key: &str, value: Expression) {
        let variable = match self.fields.get(key) {
            Some(Expression::Variable(variable)) => *variable,
            _ => {
                let variable = self.variable();
                self.fields.insert(key.to_owned(), Expression::Variable(variable));
                variable
            }
        };
        self.assign(variable, value);
    }

    pub fn call(&mut self, callee: Expression, arguments: Vec<Expression>, unit: usize) -> Expression {
        self.calls.push(Call { callee, arguments, unit });
        Expression::Call(self.calls.len() - 1)
    }
}
