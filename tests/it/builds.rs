//! Build files and recipes that a tool loads: what they certainly do counts as if the command did it.

use crate::javascript::project;
use crate::knowledge::{allowed_in, stopped_in};

const WIPE: &str = "rm -rf /home/user/Documents";

fn filled(files: &[(&str, &str)]) -> tempfile::TempDir {
    let files: Vec<(&str, String)> = files.iter().map(|(name, text)| (*name, text.replace("WIPE", WIPE))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    project(&files)
}

#[test]
fn files_that_gradle_applies_are_read() {
    let exec = "task wipe(type: Exec) { commandLine 'sh', '-c', 'WIPE' }\n";
    for (place, text) in [
        ("tidy.gradle", exec),
        ("gradle/tidy.gradle", exec),
        ("buildSrc/src/main/groovy/tidy.gradle", exec),
        ("core/build.gradle", exec),
        ("tidy.gradle.kts", "tasks.register<Exec>(\"wipe\") { commandLine(\"sh\", \"-c\", \"WIPE\") }\n"),
        (
            "gradle/home.gradle",
            "def base = new File(System.getProperty('user.home'))\nnames.each { name ->\n  def dir = new File(base, name)\n  \
             dir.deleteDir()\n}\n",
        ),
    ] {
        let root = filled(&[("build.gradle", "plugins { id 'java' }\n"), (place, text)]);
        stopped_in(root.path(), &["gradle build"]);
    }
    let root = filled(&[
        ("build.gradle", "apply from: 'gradle/tidy.gradle'\n"),
        ("gradle/tidy.gradle", "task tidy(type: Delete) { delete 'build/tmp' }\nexec { commandLine 'echo', 'done' }\n"),
    ]);
    allowed_in(root.path(), &["gradle build", "gradle test --offline"]);
}

#[test]
fn builds_in_xml_are_read() {
    let maven = "<project><build><plugins><plugin><artifactId>exec-maven-plugin</artifactId><configuration>\
                 <executable>sh</executable><arguments><argument>-c</argument><argument>WIPE</argument></arguments>\
                 </configuration></plugin></plugins></build></project>\n";
    let ant = "<project default='a'><property name='old' location='${user.home}/Documents'/>\
               <target name='a'><delete dir='${old}'/></target></project>\n";
    let net = "<Project><Target Name='A' BeforeTargets='Build'><Exec Command='WIPE'/></Target></Project>\n";
    for (place, text, command) in [
        ("pom.xml", maven, "mvn -q package"),
        ("core/pom.xml", maven, "mvn verify"),
        ("build.xml", ant, "ant"),
        ("src/app.csproj", net, "dotnet build"),
        ("Directory.Build.targets", net, "dotnet test"),
        ("app.proj", net, "msbuild app.sln"),
    ] {
        stopped_in(filled(&[(place, text)]).path(), &[command]);
    }
    let maven = "<project><properties><out>target/site</out></properties><build><plugins><plugin><configuration>\
                 <executable>npm</executable><workingDirectory>web</workingDirectory><arguments><argument>run</argument>\
                 <argument>build</argument></arguments></configuration></plugin></plugins></build></project>\n";
    let ant = "<project><property name='out' value='dist'/><target name='clean'><delete dir='${out}'/>\
               <delete file='${unset}/a'/></target></project>\n";
    let net = "<Project><Target Name='A'><RemoveDir Directories='$(OutDir);obj'/><Exec Command='copy /Y a b'/></Target>\
               </Project>\n";
    let bomb = "<!DOCTYPE a [<!ENTITY b 'bb'><!ENTITY c '&b;&b;&b;'>]><project>&c;</project>\n";
    let root = filled(&[("pom.xml", maven), ("build.xml", ant), ("app.csproj", net), ("old/pom.xml", bomb)]);
    allowed_in(root.path(), &["mvn -q package", "ant clean", "dotnet build", "dotnet test --no-build"]);
}

#[test]
fn recipes_of_other_tools_are_read() {
    for (place, text, command) in [
        ("cdk.json", "{\"app\": \"WIPE && node app.js\"}\n", "cdk synth"),
        (".goreleaser.yml", "before:\n  hooks:\n    - go mod tidy\n    - WIPE\n", "goreleaser build --snapshot"),
        ("goreleaser.yaml", "builds:\n  - hooks:\n      pre:\n        - cmd: WIPE\n", "goreleaser build"),
        ("fastlane/Fastfile", "lane :test do\n  sh('WIPE')\nend\n", "fastlane test"),
        ("Podfile", "target 'A' do\nend\nsystem('WIPE')\n", "pod install"),
        ("_plugins/tidy.rb", "require 'fileutils'\nFileUtils.rm_rf('/home/user/Documents')\n", "jekyll build"),
        (
            "lib/doc.go",
            "package lib\n\n//go:generate -command tidy sh -c \"WIPE\"\n//go:generate tidy\n",
            "go generate ./...",
        ),
        (
            "modules/a/main.tf",
            "resource \"null_resource\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"WIPE\"\n  }\n}\n",
            "terraform apply -auto-approve",
        ),
    ] {
        stopped_in(filled(&[(place, text)]).path(), &[command]);
    }
    let root = filled(&[
        ("cdk.json", "{\"app\": \"npx ts-node bin/app.ts\", \"context\": {\"a\": true}}\n"),
        (".goreleaser.yml", "before:\n  hooks:\n    - go mod tidy\nbuilds:\n  - env: [CGO_ENABLED=0]\n"),
        ("lib/doc.go", "package lib\n\n//go:generate -command fmt gofmt -l\n//go:generate fmt .\n"),
        ("modules/a/main.tf", "resource \"null_resource\" \"a\" {\n  triggers = { a = 1 }\n}\n"),
    ]);
    allowed_in(
        root.path(),
        &["cdk synth", "goreleaser build --snapshot", "go generate ./...", "terraform plan", "goreleaser check"],
    );
}
