use super::expand::Scope;
use super::parse::Parser;
use super::recipes;
use crate::UNKNOWN_SPAN;
use std::collections::HashMap;

fn lines(text: &str, goals: &[&str]) -> Vec<String> {
    let mut scope = Scope::new(HashMap::from([("HOME".to_owned(), "/h".to_owned())]), Box::new(|_| None));
    let include = |name: &str| (name == "more.mk").then(|| "MORE := x\n".to_owned());
    let mut parser = Parser::new(&mut scope, &include);
    parser.read(text, 0);
    let file = std::mem::take(&mut parser.file);
    let goals = if goals.is_empty() {
        file.first.iter().cloned().collect()
    } else {
        goals.iter().map(|goal| (*goal).to_owned()).collect()
    };
    recipes(&file, &mut scope, goals)
}

#[test]
fn variables_and_functions_have_values() {
    let span = UNKNOWN_SPAN.to_string();
    for (text, expected) in [
        ("A := a b\nall:\n\trm $(A:=.o) $(patsubst %,x/%,$(A)) # c\n", "rm a.o b.o x/a x/b # c"),
        ("F := $(shell find src -name '*.c')\nall:\n\tcc $(F)\n", &format!("cc {span}")),
        ("S = $(notdir $(basename a/b.c d/e.f))\nall:\n\techo $(S) $$HOME ${HOME}\n", "echo b e $HOME /h"),
        ("define R\nrm -rf $(1)\nendef\nall:\n\t$(call R,dist)\n", "rm -rf dist"),
        ("X ?= 1\nX ?= 2\nY = $(if $(X),yes,no)\nall:\n\techo $(X) $(Y)\n", "echo 1 yes"),
        ("include more.mk\nall: ; echo $(MORE)\n", "echo x"),
        ("ifeq ($(OS),Windows_NT)\nRM = del\nelse\nRM = rm -f\nendif\nall:\n\t$(RM) a\n", "rm -f a"),
        ("L := $(foreach d,a b,$(d)/x)\nall:\n\tls $(L) $(filter-out a,a b)\n", "ls a/x b/x b"),
        ("all: V = 3\nall:\n\techo $(V)\n", "echo 3"),
        ("V = $(call unknown_function,x) $(origin X)\nall:\n\techo $(V)\n", &format!("echo  {span}")),
    ] {
        assert_eq!(lines(text, &[]), [expected], "{text}");
    }
}

#[test]
fn rules_run_with_their_needs() {
    let text = "all: a.o\n\t@ld $^ -o $@\n%.o: %.c\n\tcc -c $< -o $@ # $* $(@D)\nclean:\n\t-rm -f *.o\n";
    assert_eq!(lines(text, &[]), ["ld a.o -o all", "cc -c a.c -o a.o # a ."]);
    assert_eq!(lines(text, &["clean"]), ["rm -f *.o"]);
    assert_eq!(lines(".ONESHELL:\nall:\n\tcd d\n\trm x\n", &["all"]), ["cd d\nrm x"]);
    assert!(lines("a: b\nb: a\n", &["a"]).is_empty());
    // a pattern whose need matches it again is used once
    assert_eq!(lines("%: common-%\n\techo $@\ncommon-x:\n\techo y\n", &["x"]), ["echo x", "echo y"]);
    assert_eq!(lines("%: a-%\n\techo $@\n", &["x"]), ["echo x"]);
}
