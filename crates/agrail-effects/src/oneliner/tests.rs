#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::{editor, extract_effects};

/// The effects and problems of a source, as text.
fn read(language: &str, source: &str) -> Vec<String> {
    let reading = match language {
        "ed" | "ex" => editor::extract_effects(source, language == "ex"),
        _ => extract_effects(language, source).unwrap(),
    };
    let mut found: Vec<String> = reading
        .calls
        .iter()
        .map(|call| format!("{} {}{}", call.role, call.target, if call.recursive { " recursive" } else { "" }))
        .collect();
    found.extend(reading.problems.iter().map(|problem| format!("problem {}", problem.what)));
    found
}

#[test]
fn what_only_computes_and_prints_has_no_effects() {
    let mut wrong = Vec::new();
    for (language, source) in [
        ("awk", "{ print $1, $NF, $(NF-1) }"),
        ("awk", "NR==FNR { a[$1]=$2; next } $1 in a { print $0, a[$1] }"),
        ("awk", "/start/,/end/ { if ($3 > 10 && $4 ~ /x\\/y/) n++ } END { printf \"%d\\n\", n }"),
        ("awk", "BEGIN { FS=\",\"; OFS=\"\\t\" } { gsub(/\"/, \"\"); $1=$1; print }"),
        ("awk", "function max(a, b) { return a > b ? a : b } { m = max(m, $1) } END { print m }"),
        ("awk", "{ sum += $5 / 1024 } END { print sum / NR \" kB\" }"),
        ("awk", "{ print ($1 > 5 ? \"big\" : \"small\") }"),
        ("perl", "print \"$1\\n\" if /^(\\d+)\\s/;"),
        ("perl", "s/foo/bar/g; s{a/b}{c/d}; tr/a-z/A-Z/; y/a/b/"),
        ("perl", "$h{$_}++ for @F; END { print \"$_ $h{$_}\\n\" for sort { $h{$b} <=> $h{$a} } keys %h }"),
        ("perl", "my @x = map { $_ * 2 } grep { $_ % 2 } 1..10; print join(',', @x), \"\\n\""),
        ("perl", "while (<STDIN>) { chomp; my ($k, $v) = split /=/; print \"$k\\t$v\\n\" }"),
        ("perl", "s/(\\d+)/$1+1/e"),
        ("perl", "my $d = $h{$_} // 0; print 'there' if -e $d && -s $d; print $x // 'none'"),
        ("perl", "use strict; use warnings; my %h = (open => 1, system => 2); print $h{system}"),
        ("ruby", "puts [3,1,2].sort.map { |x| x * 2 }.join(\", \")"),
        ("ruby", "$_.gsub!(/foo/, 'bar'); puts $_.split(/,/)[1]"),
        (
            "ruby",
            "h = Hash.new(0); STDIN.each_line { |l| h[l.chomp] += 1 }; h.sort_by { |k, v| -v }.each { |k, v| puts \"#{v} #{k}\" }",
        ),
        ("ruby", "puts JSON.parse(STDIN.read, symbolize_names: true)[:name]"),
        ("ruby", "def fib(n) n < 2 ? n : fib(n-1) + fib(n-2) end; puts fib(20)"),
        ("ruby", "puts %w[a b c].map(&:upcase).inject(:concat)"),
        (
            "ruby",
            "t = format(<<~A, 1)\n  a %d {\n  A\nputs(<<~B + <<~'C')\n  it's #{t.upcase}\nB\n system('x') #{\nC\nputs 2",
        ),
        ("perl", "my $t = <<\"A\" . 'b';\nit's { $t\nA\nprint <<'B';\nsystem('x')\nB\nprint $t;"),
        ("php", "$a = [3, 1, 2]; sort($a); echo implode(\",\", $a) . PHP_EOL;"),
        ("php", "foreach (range(1, 3) as $i) { printf(\"%d\\n\", $i ** 2); }"),
        ("php", "$d = new DateTime('2024-01-01'); echo $d->format('Y'), \"\\n\";"),
        ("php", "function f(int $x): int { return $x * 2; } echo f(2);"),
        ("lua", "local t = {3, 1, 2}; table.sort(t, function(a, b) return a < b end); print(#t, t[1])"),
        ("lua", "for w in (\"a b\"):gmatch(\"%a+\") do io.write(w, \"\\n\") end -- os.execute(\"rm\")"),
        ("r", "d <- mtcars; m <- lm(mpg ~ wt + factor(cyl), data = d); writeLines(format(coef(m)))"),
        ("r", "x <- rnorm(10); print(summary(x)); sapply(1:3, function(i) i^2)"),
        ("r", "d <- data.frame(a = 1:3, b = c('x', 'y', 'z')); cat(nrow(d), names(d), '\\n')"),
        ("julia", "f(x) = x^2 + 1; println(sum(f.(1:10)))"),
        ("julia", "using LinearAlgebra; A = [1 2; 3 4]; println(A' * A, det(A), 'c')"),
        ("elisp", "(message \"%s\" (+ 1 2))"),
        ("gnuplot", "set terminal dumb; plot sin(x) title 'sine' with lines"),
        ("m4", "eval(1+2)"),
        ("ed", ",s/foo/bar/g\n/x/,$d\nw\nq\n"),
        ("ed", "a\n!rm -rf x\n.\nw"),
        ("ex", "%s/a|b/c/g | wq"),
        ("ex", "set ff=unix noeol"),
    ] {
        let found = read(language, source);
        if !found.is_empty() {
            wrong.push(format!("{language}: {source}\n   {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each source has exactly these effects.
fn check(cases: &[(&str, &str, &[&str])]) {
    let mut wrong = Vec::new();
    for (language, source, effects) in cases {
        let found = read(language, source);
        if found != *effects {
            wrong.push(format!("{language}: {source}\n   {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn redirections_and_loops_have_effects() {
    check(&[
        ("awk", "BEGIN { system(\"rm -rf a\") }", &["script:bash rm -rf a"]),
        ("awk", "{ print $2 > \"out.txt\"; print \"x\" >> \"log\" }", &["write out.txt", "append log"]),
        ("awk", "END { for (k in s) print k, s[k] | \"sort -n\" }", &["script:bash echo \u{FFFC} | { sort -n\n}"]),
        (
            "awk",
            "BEGIN { \"date\" | getline d; while ((getline l < \"in.txt\") > 0) n++ }",
            &["script:bash date", "read in.txt"],
        ),
        ("awk", "{ print > $1 \".txt\" }", &["write \u{FFFC}.txt"]),
        ("lua", "for _, f in ipairs{'/a/b'} do io.open(f, 'w') end", &["write \u{FFFC}", "write /a/b"]),
        (
            "ruby",
            "Dir.glob('/a/**/*').each { |f| File.delete(f) }",
            &["read /a/**/*", "delete \u{FFFC}", "delete /a/**/* recursive"],
        ),
        ("awk", "BEGIN { c = \"rm\"; system(c \" -rf x\") }", &["script:bash \u{FFFC} -rf x"]),
        ("perl", "for (@f) {unlink}", &["delete \u{FFFC}"]),
    ]);
}

#[test]
fn calls_have_the_effects_of_their_rows() {
    check(&[
        ("perl", "unlink 'a', \"b\"; unlink for @x", &["delete a", "delete b", "delete \u{FFFC}"]),
        ("perl", "system('rm', '-rf', 'a b')", &["script:bash rm -rf 'a b'"]),
        ("perl", "print `ls $x`; exec \"id\"", &["script:bash ls \u{FFFC}", "script:bash id"]),
        ("perl", "open(my $f, '>', 'out.txt') or die; print $f \"x\"", &["write out.txt"]),
        ("perl", "open(F, '<in.txt'); open G, '| sh'", &["read in.txt", "script:bash echo \u{FFFC} | { sh\n}"]),
        ("perl", "s/x/unlink('a')/e", &["delete a"]),
        ("perl", "print \"@{[unlink 'a']}\"", &["delete a"]),
        ("perl", "qx{rm a}; print qq(${\\ system('b')})", &["script:bash rm a", "script:bash b"]),
        ("ruby", "File.write('a', 'x'); FileUtils.rm_rf 'b'", &["write a", "delete b recursive"]),
        ("ruby", "puts \"#{`rm a`}\"; system \"b\", \"c\"", &["script:bash b c", "script:bash rm a"]),
        ("ruby", "puts File.read('a').lines.size; open('b', 'w') { |f| f.puts 1 }", &["read a", "write b"]),
        (
            "php",
            "require __DIR__ . '/a.php'; include_once('b.php');",
            &["scriptfile:php __DIR__/a.php", "scriptfile:php b.php"],
        ),
        ("ruby", "require_relative 'a'; load 'b.rb'", &["scriptfile:ruby a", "scriptfile:ruby b.rb"]),
        ("r", "source('a.R')", &["scriptfile:r a.R"]),
        ("r", "writeLines('x', 'a')", &["write a"]),
        ("r", "dput(1, 'a')", &["write a"]),
        ("lua", "local u = require('a.b'); print(u)", &["module a.b"]),
        ("perl", "use lib 'l'; use A::B qw(c); print 1", &["module/folder l", "module A.B"]),
        ("perl", "=pod\n\nunlink it\n\n=cut\nunlink 'a';", &["delete a"]),
        ("php", "readfile('http://x/a');", &["connect:url http://x/a"]),
        ("php", "unlink('a'); echo `ls`; file_put_contents(\"b\", 1);", &["delete a", "script:bash ls", "write b"]),
        ("lua", "local f = io.open('a', 'w'); f:write('x'); os.execute('b')", &["write a", "script:bash b"]),
        ("lua", "local a, b = 'x', 'y'\nprint(a, b)\nos.remove(b .. '/z')", &["delete y/z"]),
        ("lua", "local a, b = 'x', tostring(1)\nos.remove(b)", &["delete \u{FFFC}"]),
        ("lua", "local a, b = 'x', 'y'\na, b = b, a\nos.remove(b)", &["delete \u{FFFC}"]),
        ("lua", "os.remove [[a]]; local c = 'ls'; io.popen(c)", &["delete a", "script:bash echo \u{FFFC} | { ls\n}"]),
        (
            "r",
            "unlink('a', recursive = TRUE); system(\"b\"); write.csv(d <- 1, 'c')",
            &["delete a recursive", "script:bash b", "write c"],
        ),
        ("julia", "run(`rm a`)", &["unknown run", "script:bash rm a"]),
        ("julia", "println(\"$(rm(\"a\"))\")", &["delete a recursive"]),
        ("gnuplot", "print system('rm a')", &["unknown system"]),
        ("ed", "g/x/s/a/b/\nw other\n!rm a\nr b", &["write other", "script:bash rm a", "read b"]),
        ("ex", "r b | w! c | !rm a", &["read b", "write c", "script:bash rm a"]),
    ]);
}

#[test]
fn what_is_not_split_or_not_known_is_unknown() {
    let mut wrong = Vec::new();
    for (language, source) in [
        ("awk", "BEGIN { @f(\"rm\") }"),
        ("awk", "@load \"x\""),
        ("awk", "BEGIN { ARGV[1] = \"/etc/shadow\"; ARGC = 2 } { print }"),
        ("perl", "eval $x"),
        ("perl", "time /system('rm')/ 1"),
        ("perl", "&{'POSIX::system'}('rm')"),
        ("perl", "$x = 'POSIX::unlink'; $x->('a')"),
        ("perl", "@ARGV = ('/etc/shadow'); print <>"),
        ("perl", "$^I = '.bak'"),
        ("perl", "s/x/unlink 'a'/ee"),
        ("perl", "/(?{ unlink 'a' })/"),
        ("perl", "print <<EOT;\nx\n"),
        ("perl", "use constant X => 1; X <<EOT;\nsystem('x');\nEOT\n"),
        ("perl", "print <*.c>"),
        ("perl", "sub main'x { 1 }"),
        ("perl", "my $m = 'unlink'; IO::File->$m('a')"),
        ("ruby", "\"a\".send(:system, 'rm')"),
        ("ruby", "syscall = 1; syscall 1, 2"),
        ("ruby", "['', 'x'].inject(:instance_eval)"),
        ("ruby", "%x(rm a)"),
        ("ruby", "puts ?\"; system('x') #\""),
        ("ruby", "x = [1]\nX = 2\nx <<X\nsystem('x')\nX\n"),
        ("ruby", "a = <<~X\ny\n"),
        ("ruby", "a = <<~X\n#{eval(b)}\nX\n"),
        ("ruby", "f = method(:system); f.call('x')"),
        ("ruby", "Object.const_get('File').delete('x')"),
        ("php", "$f = 'sys' . 'tem'; $f('rm');"),
        ("php", "array_map('system', ['rm']);"),
        ("php", "array_map($f, ['rm']);"),
        ("php", "(function() {})(); ('sys' . 'tem')('x');"),
        ("php", "new SplFileObject('a', 'w');"),
        ("lua", "load('os.exec' .. 'ute([[x]])')()"),
        ("lua", "_G['os']['execute']('x')"),
        ("lua", "local o = os; o.execute('x')"),
        ("lua", "os['execute']('x')"),
    ] {
        wrong.extend(known(language, source));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A source of which nothing is said to be unknown.
fn known(language: &str, source: &str) -> Option<String> {
    let found = read(language, source);
    let unknown =
        |found: &String| found.starts_with("unknown") || found.starts_with("problem") || found.contains("script:bash");
    (!found.iter().any(unknown)).then(|| format!("{language}: {source}\n   {found:?}"))
}

#[test]
fn what_other_languages_hide_is_unknown() {
    let mut wrong = Vec::new();
    for (language, source) in [
        ("r", "sapply('rm', 'system')"),
        ("r", "do.call('system', list('x'))"),
        ("r", "base::system('x')"),
        ("r", "`system`('x')"),
        ("r", "library(processx)"),
        ("r", "mapply(FUN = write, 'x', 'a')"),
        ("r", "f <- function(c) system(c); c <- 'ls'; f('rm')"),
        ("julia", "Base.run(`x`)"),
        ("julia", "@eval run(`x`)"),
        ("julia", "eval(Meta.parse(\"x\"))"),
        ("elisp", "(delete-file \"a\")"),
        ("elisp", "(shell-command \"a\")"),
        ("gnuplot", "load 'x'"),
        ("m4", "define(`x', `sys')x`'cmd(`rm')"),
        ("m4", "syscmd(rm a)"),
        ("ex", "normal :!rm"),
        ("ex", "set shell=/tmp/x"),
        ("ex", "s/x/\\=system('rm')/"),
        ("ex", "call system('rm')"),
        ("ex", "s/x/y/ | foo | !rm"),
        ("ed", "f !rm"),
    ] {
        wrong.extend(known(language, source));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_of_the_language_are_told_from_those_of_packages() {
    for (language, source, name, is_own) in [
        ("ruby", "Slug.make(1)", "Slug", true),
        ("ruby", "x.frobnicate", ".frobnicate", true),
        ("ruby", "Net::HTTP.get(u)", "Net", false),
        ("ruby", "FileUtils.frob('x')", "FileUtils.frob", false),
        ("ruby", "x.instance_variable_set(:@a, 1)", ".instance_variable_set", false),
        ("php", "$t = new Tokenizer($x);", "Tokenizer", true),
        ("php", "pcntl_fork();", "pcntl_fork", false),
        ("php", "$z = new ZipArchive;", "ZipArchive", false),
        ("perl", "GetOptions('x' => $x);", "GetOptions", true),
        ("perl", "copy('a', 'b');", "copy", false),
        ("perl", "my $x = IO::Socket::INET->new;", "IO.Socket.INET", false),
        ("lua", "inspect.dump(1)", "inspect", true),
        ("lua", "os.frob()", "os.frob", false),
        ("r", "jsonlite::fromJSON('x')", "jsonlite::fromJSON", true),
        ("r", "utils::untar('x')", "utils::untar", false),
        ("julia", "@btime2 f(1)", "@btime2", true),
    ] {
        let found = read(language, source);
        let role = if is_own { "library" } else { "unknown" };
        assert!(found.contains(&format!("{role} {name}")), "{language}: {source}: {found:?}");
    }
    // nothing is known of what a macro makes of its source
    assert!(read("julia", "@eval x").iter().any(|found| found.starts_with("problem")));
}

#[test]
fn a_computed_path_is_no_pattern_of_the_source() {
    let php = "file_put_contents($o['out'] . '.tmp', preg_replace('/(\\w+)$/', '/', $x)); $a = '/etc/hosts';";
    let found = read("php", php);
    assert!(found.contains(&"write /etc/hosts".to_owned()), "{found:?}");
    assert!(!found.iter().any(|call| call.contains("\\w") || call == "write /"), "{found:?}");
}
