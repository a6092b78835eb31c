//! XML build files: Ant and Phing (`build.xml`), MSBuild (`.csproj`, `.targets`), Maven (`pom.xml`).
//!
//! Every target is read, because any of them may depend on any other. Properties that the file sets to one value are
//! substituted, as are the home folder and the folder of the file.

use super::{BESIDE, Step, fill};
use crate::UNKNOWN_SPAN;
use crate::reading::quote;
use foldhash::HashMap;
use roxmltree::{Document, Node, ParsingOptions};

/// Most nodes of a file.
const NODES: u32 = 20_000;
/// How often the values of properties are put into each other.
const ROUNDS: usize = 4;
/// Longest value of a property, in bytes.
const LONGEST: usize = 1_024;

/// Reads an XML build file. Deletions and downloads become `rm` and `curl` commands.
pub(super) fn steps(text: &str) -> Option<Vec<Step>> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: NODES, ..ParsingOptions::default() };
    let file = Document::parse_with_options(text, options).ok()?;
    let values = properties(&file);
    let elements = || file.descendants().filter(Node::is_element);
    let texts = elements().flat_map(|node| lines(node).into_iter().map(move |line| (node, line)));
    let step = |(node, line): (Node<'_, '_>, String)| {
        let folder = attribute(node, &["dir", "workingdirectory"]).map(|folder| filled(folder, &values));
        // no shell puts its variables into the name of the folder
        let folder = folder.map(|folder| folder.replace("$HOME", &UNKNOWN_SPAN.to_string()));
        Step { folder: Some(folder.unwrap_or_else(|| BESIDE.to_owned())), ..Step::shell(filled(&line, &values)) }
    };
    Some(texts.map(step).collect())
}

/// The command lines that an element stands for.
fn lines(node: Node<'_, '_>) -> Vec<String> {
    let each = |command: &str, names: &[&str]| -> Vec<String> {
        let values = names.iter().filter_map(|name| attribute(node, &[name]));
        let paths = values.flat_map(|value| value.split(';')).map(str::trim).filter(|path| !path.is_empty());
        paths.map(|path| format!("{command} {}", word(path))).collect()
    };
    match node.tag_name().name().to_ascii_lowercase().as_str() {
        // MSBuild has the whole line in one attribute; Ant and Phing have words
        "exec" => match attribute(node, &["command"]) {
            Some(command) => vec![command.to_owned()],
            None => attribute(node, &["executable"]).map(|program| vec![called(program, node)]).unwrap_or_default(),
        },
        "executable" => {
            let program = node.text().map(str::trim).filter(|text| !text.is_empty());
            let around = node.parent_element();
            program.zip(around).map(|(program, around)| vec![called(program, around)]).unwrap_or_default()
        }
        "delete" => each("rm -rf", &["dir", "file", "files"]),
        "removedir" => each("rm -rf", &["directories"]),
        // maven-clean-plugin
        "directory" if is_inside(node, &["fileset", "filesets"]) => {
            let folder = node.text().map(str::trim).unwrap_or_default();
            deleted(folder, node.parent_element())
        }
        "fileset" if is_inside(node, &["delete"]) => {
            attribute(node, &["dir"]).map(|folder| deleted(folder, Some(node))).unwrap_or_default()
        }
        "get" | "downloadfile" => each("curl -O", &["src", "sourceurl"]),
        _ => Vec::new(),
    }
}

/// The deletion of the files that a file set includes; all of them without a pattern.
fn deleted(folder: &str, set: Option<Node<'_, '_>>) -> Vec<String> {
    let below = set.into_iter().flat_map(|set| set.descendants()).filter(Node::is_element);
    let patterns: Vec<&str> = below
        .filter_map(|node| match node.tag_name().name() {
            "include" => attribute(node, &["name"]).or_else(|| node.text()),
            _ => attribute(node, &["includes"]),
        })
        .flat_map(|all| all.split([',', ' ', '\n']))
        .filter(|pattern| !pattern.is_empty())
        .collect();
    // a pattern without a name or an ending takes every file
    let takes_all = |pattern: &&str| pattern.chars().all(|c| matches!(c, '*' | '/' | '.' | '?'));
    if patterns.is_empty() || patterns.iter().any(takes_all) {
        return vec![format!("rm -rf {}", word(folder))];
    }
    let of_glob = |c: char| c.is_ascii_alphanumeric() || "_-.*?/".contains(c);
    let safe = |pattern: &str| pattern.chars().map(|c| if of_glob(c) { c } else { '?' }).collect::<String>();
    patterns.iter().map(|pattern| format!("rm -rf {}/{}", word(folder), safe(pattern))).collect()
}

/// Whether the elements around one have these names, from the inner one.
fn is_inside(node: Node<'_, '_>, names: &[&str]) -> bool {
    let around = node.ancestors().skip(1).map(|outer| outer.tag_name().name());
    around.zip(names).filter(|(name, wanted)| name.eq_ignore_ascii_case(wanted)).count() == names.len()
}

/// A program with the arguments in the elements around it: `<arg value="a b"/>`, `<arg line="-c x"/>`,
/// `<argument>a b</argument>`, `<commandlineArgs>-c x</commandlineArgs>`.
fn called(program: &str, around: Node<'_, '_>) -> String {
    let mut line = word(program);
    let mut add = |text: String| {
        line.push(' ');
        line.push_str(&text);
    };
    for node in around.descendants().filter(|node| node.is_element() && *node != around) {
        let text = || node.text().map(str::trim).unwrap_or_default();
        match node.tag_name().name().to_ascii_lowercase().as_str() {
            "arg" => {
                attribute(node, &["value", "path", "file"]).map(word).into_iter().for_each(&mut add);
                attribute(node, &["line"]).map(str::to_owned).into_iter().for_each(&mut add);
            }
            "argument" => add(word(text())),
            "commandlineargs" => add(text().to_owned()),
            _ => {}
        }
    }
    line
}

/// A word of a command line in which properties keep their marks.
fn word(text: &str) -> String {
    if text.contains('$') && !text.contains('"') { format!("\"{text}\"") } else { quote(text) }
}

fn attribute<'n>(node: Node<'n, '_>, names: &[&str]) -> Option<&'n str> {
    let is_named = |name: &str| names.iter().any(|other| name.eq_ignore_ascii_case(other));
    node.attributes().find(|one| is_named(one.name())).map(|one| one.value())
}

/// The properties that have one constant value, by their names in lower case.
fn properties(file: &Document<'_>) -> HashMap<String, String> {
    let mut values: HashMap<String, String> = HashMap::default();
    let mut twice: Vec<String> = Vec::new();
    for node in file.descendants().filter(Node::is_element) {
        let inside = node.parent_element().map_or("", |parent| parent.tag_name().name());
        let (name, value) = match node.tag_name().name() {
            "property" => (attribute(node, &["name"]), attribute(node, &["value", "location"])),
            name if matches!(inside, "properties" | "PropertyGroup") => (Some(name), node.text().map(str::trim)),
            _ => continue,
        };
        let Some((name, value)) = name.zip(value).filter(|(_, value)| value.len() <= LONGEST) else { continue };
        if values.insert(name.to_ascii_lowercase(), value.to_owned()).is_some_and(|before| before != value) {
            twice.push(name.to_ascii_lowercase());
        }
    }
    twice.iter().for_each(|name| drop(values.remove(name)));
    for _ in 0..ROUNDS {
        let before = values.clone();
        values.values_mut().filter(|value| value.contains('$')).for_each(|value| *value = filled(value, &before));
        values.retain(|_, value| value.len() <= LONGEST);
    }
    values
}

/// A text with the values of its properties, `${NAME}` and `$(NAME)`.
fn filled(text: &str, values: &HashMap<String, String>) -> String {
    let value = |name: &str| match name.to_ascii_lowercase().as_str() {
        "user.home" | "env.home" | "home" | "userprofile" => Some("$HOME".to_owned()),
        "basedir" | "project.basedir" | "project.dir" | "msbuildprojectdirectory" => Some(".".to_owned()),
        // a folder with a separator at its end
        "msbuildthisfiledirectory" => Some("./".to_owned()),
        "project.build.directory" => Some("target".to_owned()),
        name => values.get(name).cloned(),
    };
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    // a command of a shell, or a function of MSBuild
    let value_or_command = |name: &str| if is_name(name) { value(name) } else { Some(format!("$({name})")) };
    let text = fill(text, "$(", ")", value_or_command);
    // the home folder is the shell's own variable
    fill(&text, "${", "}", value).replace(&format!("{UNKNOWN_SPAN}{UNKNOWN_SPAN}"), &UNKNOWN_SPAN.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(file: &str) -> Vec<String> {
        steps(file).unwrap_or_default().into_iter().map(|step| step.text).collect()
    }

    #[test]
    fn builds_of_ant_run_and_delete() {
        let file = r#"<project><property name="old" location="${user.home}/old"/><target name="a">
            <exec executable="sh" dir="sub"><arg value="-c"/><arg value="echo a"/><arg line="b c"/></exec>
            <delete dir="${old}"/><delete file="${x}/y"/></target></project>"#;
        let span = UNKNOWN_SPAN;
        let all = ["sh -c 'echo a' b c".to_owned(), "rm -rf \"$HOME/old\"".to_owned(), format!("rm -rf \"{span}/y\"")];
        assert_eq!(texts(file), all);
        assert_eq!(steps(file).and_then(|all| all.first()?.folder.clone()).as_deref(), Some("sub"));
    }

    #[test]
    fn projects_of_msbuild_run_and_delete() {
        let file = r#"<Project><PropertyGroup><Out>$(MSBuildProjectDirectory)/gen</Out></PropertyGroup>
            <Target Name="a"><Exec Command="sh x.sh &gt; $(Out)/y"/><RemoveDir Directories="$(Out);/opt/a"/></Target>
            </Project>"#;
        assert_eq!(texts(file), ["sh x.sh > ./gen/y", "rm -rf \"./gen\"", "rm -rf /opt/a"]);
    }

    #[test]
    fn plugins_of_maven_run_programs() {
        let file = "<project xmlns='http://maven.apache.org/POM/4.0.0'><properties><p>sh</p></properties><build><plugins>\
                    <plugin><configuration><executable>${p}</executable><arguments><argument>-c</argument><argument>a \
                    b</argument></arguments></configuration></plugin></plugins></build></project>";
        assert_eq!(texts(file), ["\"sh\" -c 'a b'"]);
    }

    #[test]
    fn the_plugin_of_maven_that_cleans_deletes() {
        let file = "<project><properties><a>${user.home}/b</a></properties><configuration><filesets><fileset>\
                    <directory>${a}</directory></fileset></filesets><directory>c</directory></configuration></project>";
        assert_eq!(texts(file), ["rm -rf \"$HOME/b\""]);
    }

    #[test]
    fn patterns_of_a_file_set_limit_what_is_deleted() {
        let file = "<project><filesets><fileset><directory>logs</directory><includes><include>*.log</include></includes>\
                    </fileset><fileset><directory>a</directory><includes><include>**/*</include></includes></fileset>\
                    </filesets><delete><fileset dir='b' includes='**/*.bak'/><fileset dir='c'/></delete></project>";
        assert_eq!(texts(file), ["rm -rf logs/*.log", "rm -rf a", "rm -rf b/**/*.bak", "rm -rf c"]);
    }

    #[test]
    fn hostile_files_have_no_steps() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \
                    \"&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;\"><!ENTITY e \"&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;\">]><a>&e;</a>";
        assert_eq!(texts(bomb), Vec::<String>::new());
        assert_eq!(steps(&"<a>".repeat(30_000)), None);
        let circle = r#"<a><property name="x" value="${y}${y}"/><property name="y" value="${x}${x}"/>
                        <delete dir="${x}"/></a>"#;
        assert!(texts(circle).iter().all(|line| line.len() < 2 * LONGEST));
    }
}
