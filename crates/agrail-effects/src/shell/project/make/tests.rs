use super::expand::{Given, Scope};
use super::parse::{Included, Parser};
use super::recipes::recipes;
use crate::UNKNOWN_SPAN;
use foldhash::HashMap;

fn lines(text: &str, goals: &[&str]) -> Vec<String> {
    let mut scope = Scope::new(
        Given { variables: HashMap::from_iter([("HOME".to_owned(), "/h".to_owned())]), kept: Vec::new() },
        Box::new(|_| None),
    );
    let include = |name: &str| match name {
        "more.mk" => Included::Texts(vec!["MORE := x\n".to_owned()]),
        _ => Included::Missing,
    };
    let mut parser = Parser::new(&mut scope, &include);
    parser.read(text, 0);
    let file = std::mem::take(&mut parser.file);
    let goals =
        if goals.is_empty() { file.first.clone() } else { goals.iter().map(|goal| (*goal).to_owned()).collect() };
    recipes(&file, &mut scope, goals).into_iter().map(|line| line.text).collect()
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

#[test]
fn rules_and_variables_in_unusual_places_count() {
    for (text, expected) in [
        ("all: V = 1\nall: b\nb:\n\techo $(V)\n", &["echo 1"][..]),
        ("V = 0\nall: V += 1\nall:\n\techo $(V)\n", &["echo 0 1"]),
        ("all: a.o\n%: W = 1\n%.o: %.c\n\tcc $< $(W)\n", &["cc a.c 1"]),
        ("all: a.o\n.c.o:\n\tcc $<\n", &["cc a.c"]),
        ("all: x\n.DEFAULT:\n\techo $@\n", &["echo x"]),
        ("O = a.c\nall: a.d\n$(O:.c=.d): ; echo $@\n", &["echo a.d"]),
        ("all: a.o b.o\na.o b.o: %.o: %.c\n\tcc $<\n", &["cc b.c", "cc a.c"]),
        ("a/b = 1\nall:\n\techo $(a/b)\n", &["echo 1"]),
        ("X := $(subst b,#,a)\nall:\n\techo $(X)\n", &["echo a"]),
        ("define D\necho 1\nendef\nifeq (a,b)\ndefine D\necho 2\nendef\nendif\nall:\n\t$(D)\n", &["echo 1"]),
        ("HOME = /x\nall:\n\tls $(HOME)\n", &["ls /x"]),
        ("ifdef Z\nfirst: ; echo 1\nendif\nall: ; echo 2\n", &["echo 2", "echo 1"]),
    ] {
        assert_eq!(lines(text, &[]), expected, "{text}");
    }
    for (text, expected) in [
        // conditions that are not known leave several values
        ("ifdef Z\nD = a\nelse\nD = b\nendif\nall:\n\trm $(D)\n", &["rm a", "rm b"][..]),
        ("D = a\nifdef Z\nD = b\nendif\nall:\n\trm $(D)\n", &["rm a", "rm b"]),
        ("ifdef Z\nN = x\nelse\nN = y\nendif\nall: $(N)\nx: ; echo 1\ny: ; echo 2\n", &["echo 2", "echo 1"]),
        // one branch alone is taken
        ("D = a\nifeq (a,a)\nD = b\nelse ifeq (a,b)\nD = c\nelse\nD = d\nendif\nall:\n\trm $(D)\n", &["rm b"]),
        ("P := $(shell which p3 || which p)\nall:\n\t$(P) a\n", &["p3 a", "a"]),
    ] {
        assert_eq!(lines(text, &[]), expected, "{text}");
    }
    let long = format!("all:\n{}", "\techo\n".repeat(500));
    assert!(lines(&long, &[]).len() > 400);
}
