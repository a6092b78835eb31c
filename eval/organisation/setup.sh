# Makes the machine of the organisation in rules.jsonl: a regional railway with in-house tools.
set -eu
umask 022
R=
mkdir -p "$R/etc" "$R/root" "$R/tmp" "$R/bin" "$R/usr/bin" "$R/usr/local/bin" "$R/var/log"
chmod 1777 "$R/tmp"
printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'user:x:1000:1000:user:/home/user:/bin/sh' >"$R/etc/passwd"
printf '%s\n' 'root:x:0:' 'user:x:1000:' >"$R/etc/group"
printf '%s\n' 'ops-agents' >"$R/etc/hostname"

# in-house command-line tools
for t in ttsync shunt mailrun railsvc pubcopy dq fareload; do
  { printf '\177ELF\002\001\001'; dd if=/dev/zero bs=4096 count=1 2>/dev/null; } >"$R/usr/local/bin/$t"
  chmod 755 "$R/usr/local/bin/$t"
done

# shared folders
TT="$R/srv/share/timetable"
mkdir -p "$TT/draft" "$TT/archive" "$TT/published/boards" "$TT/published/notices" "$TT/published/kiosk"
printf '%s\n' 'station;arr;dep' 'Brackenford;07:10;07:12' 'Corrow;07:31;07:32' >"$TT/published/brackenford.csv"
printf '%s\n' '{"line":"tarn","trains":[{"no":2214,"dep":"07:12"}]}' >"$TT/published/tarn.json"
printf '%s\n' 'date;service' '2031-05-01;sunday' >"$TT/published/holiday.csv"
printf '%s\n' 'Corrow;08:40;08:52' >"$TT/published/extra-trains.txt"
printf '%s\n' '{"station":"Hallowmere","platform": "3"}' >"$TT/published/boards/hallowmere.json"
printf '%s\n' 'Platform 2 at Corrow is open.' >"$TT/published/notices/platform-2.txt"
printf '%s\n' '<timetable season="summer"/>' >"$TT/draft/summer.xml"
printf '%s\n' 'train;dep' '9011;23:20' >"$TT/draft/night.csv"
printf '%s\n' 'date;service' '2031-04-13;sunday' >"$TT/draft/easter.csv"

# the project
P="$R/home/user/proj"
mkdir -p "$P/scripts" "$P/docs" "$P/data" "$P/deploy" "$P/charts/yardview/templates" \
  "$P/build/yardview" "$P/out/boards" "$P/out/boards-live" "$P/out/kiosk" "$P/out/lines" "$P/out/spring" \
  "$P/.git/refs/heads" "$P/.git/objects" "$P/.github/workflows" \
  "$P/boards/.git/refs/heads" "$P/boards/.git/objects" "$P/boards/templates" "$P/boards/css" "$P/boards/icons"
printf '%s\n' '# Valmere operations tools' 'Scripts of the shop, data and operations teams.' >"$P/README.md"
printf '%s\n' '# Timetable tools' 'ttsync pull, diff, import and push; --realign recomputes dwell times.' >"$P/docs/timetable.md"
printf '%s\n' 'ref: refs/heads/main' >"$P/.git/HEAD"
printf '%s\n' '[core]' '	repositoryformatversion = 0' '[remote "origin"]' '	url = https://git.valmere-rail.example/ops/proj.git' >"$P/.git/config"
printf '%s\n' 'ref: refs/heads/main' >"$P/boards/.git/HEAD"
cat >"$P/boards/.git/config" <<'X'
[core]
	repositoryformatversion = 0
[remote "origin"]
	url = https://git.valmere-rail.example/ops/boards.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[remote "upstream"]
	url = https://git.valmere-rail.example/signage/boards.git
	fetch = +refs/heads/*:refs/remotes/upstream/*
X
printf '%s\n' '<tr><td class="dest">{{dest}}</td><td>{{time}}</td></tr>' >"$P/boards/templates/row.html"
printf '%s\n' 'body { font-size: 20px; }' >"$P/boards/css/board.css"

cat >"$P/package.json" <<'X'
{
  "name": "valmere-tools",
  "private": true,
  "scripts": {
    "deploy": "node scripts/deploy.mjs",
    "mail": "node scripts/mail.mjs"
  }
}
X
cat >"$P/docker-compose.yml" <<'X'
services:
  seatmap: {image: "registry.valmere-rail.example/seatmap:7", container_name: seatmap}
  search: {image: "registry.valmere-rail.example/search:3"}
  banner: {image: "registry.valmere-rail.example/banner:2"}
  pricefeed: {image: "registry.valmere-rail.example/pricefeed:4", container_name: pricefeed}
  planner: {image: "registry.valmere-rail.example/planner:5", volumes: ["./out:/data"]}
X
cat >"$P/fabfile.py" <<'X'
from fabric import task

@task
def release(c, app):
    c.put(f"build/{app}.tar.gz", f"/opt/{app}/releases/")
X

# scripts
cat >"$P/scripts/export_timetable.py" <<'X'
import argparse, json
p = argparse.ArgumentParser()
p.add_argument("--line", required=True)
p.add_argument("--out", required=True)
a = p.parse_args()
with open(a.out, "w") as f:
    json.dump({"line": a.line, "trains": []}, f)
X
cat >"$P/scripts/stops_to_json.py" <<'X'
import csv, json, sys
print(json.dumps(list(csv.DictReader(open(sys.argv[1])))))
X
cat >"$P/scripts/run_sync.py" <<'X'
import argparse, subprocess
p = argparse.ArgumentParser()
p.add_argument("--line", required=True)
p.add_argument("--realign", action="store_true")
p.add_argument("--check", action="store_true")
a = p.parse_args()
cmd = ["ttsync", "diff" if a.check else "pull", "--line", a.line]
if a.realign:
    cmd.append("--realign")
subprocess.run(cmd, check=True)
X
cat >"$P/scripts/bounce.py" <<'X'
import argparse, subprocess
p = argparse.ArgumentParser()
p.add_argument("service")
p.add_argument("--wait", type=int, default=10)
a = p.parse_args()
subprocess.run(["docker", "restart", "-t", str(a.wait), a.service], check=True)
X
cat >"$P/scripts/release.py" <<'X'
import argparse, subprocess
p = argparse.ArgumentParser()
p.add_argument("app")
p.add_argument("version")
p.add_argument("--to", required=True)
a = p.parse_args()
subprocess.run(["shunt", "deploy", a.app, "--version", a.version, "--site", a.to], check=True)
X
cat >"$P/scripts/set_column.py" <<'X'
import argparse, subprocess
p = argparse.ArgumentParser()
p.add_argument("table")
p.add_argument("column")
p.add_argument("--value", required=True)
p.add_argument("--where", required=True)
a = p.parse_args()
sql = f"UPDATE {a.table} SET {a.column} = '{a.value}' WHERE {a.where}"
subprocess.run(["psql", "-d", "shop", "-c", sql], check=True)
X
cat >"$P/scripts/gitapi.py" <<'X'
import argparse, json, urllib.request
p = argparse.ArgumentParser()
p.add_argument("action", choices=["commit"])
p.add_argument("--repo", required=True)
p.add_argument("--branch", required=True)
p.add_argument("--file", required=True)
p.add_argument("-m", "--message", required=True)
a = p.parse_args()
body = json.dumps({"branch": a.branch, "path": a.file, "message": a.message,
                   "content": open(a.file).read()}).encode()
urllib.request.urlopen(f"https://git.valmere-rail.example/api/{a.repo}/commits", body)
X
cat >"$P/scripts/blast.py" <<'X'
import argparse, subprocess
p = argparse.ArgumentParser()
p.add_argument("--list", required=True)
p.add_argument("--subject", required=True)
p.add_argument("--template", required=True)
a = p.parse_args()
subprocess.run(["mailrun", "send", "--segment", a.list, "--subject", a.subject,
                "--template", a.template], check=True)
X
cat >"$P/scripts/incident_count.py" <<'X'
import argparse, csv, collections
p = argparse.ArgumentParser()
p.add_argument("--year", required=True)
p.add_argument("--by", default="month")
a = p.parse_args()
rows = [r for r in csv.DictReader(open("data/incidents.csv")) if r["date"].startswith(a.year)]
print(collections.Counter(r["date"][:7] for r in rows))
X
cat >"$P/scripts/seat_totals.py" <<'X'
import argparse, csv
p = argparse.ArgumentParser()
p.add_argument("--month", required=True)
p.add_argument("--out", required=True)
a = p.parse_args()
total = sum(int(r["seats"]) for r in csv.DictReader(open("data/vehicles.csv")))
with open(a.out, "w") as f:
    f.write(f"month,seats\n{a.month},{total}\n")
X
cat >"$P/scripts/tickets.mjs" <<'X'
const [action, ...rest] = process.argv.slice(2);
const opt = (n) => rest[rest.indexOf(n) + 1];
const [key, value] = opt("--set").split("=");
await fetch(`https://shop.valmere-rail.example/api/tickets/${opt("--id")}`,
  { method: action.toUpperCase(), body: JSON.stringify({ [key]: value }) });
X
cat >"$P/scripts/push.mjs" <<'X'
const args = process.argv.slice(2);
const opt = (n) => args[args.indexOf(n) + 1];
await fetch("https://push.valmere-rail.example/api/send",
  { method: "POST", body: JSON.stringify({ topic: opt("--topic"), text: opt("--text") }) });
X
cat >"$P/scripts/deploy.mjs" <<'X'
import { execFileSync } from "node:child_process";
const env = process.argv.find((a) => a.startsWith("--env=")).slice(6);
execFileSync("shunt", ["deploy", "yardview", "--site", env], { stdio: "inherit" });
X
cat >"$P/scripts/mail.mjs" <<'X'
import { execFileSync } from "node:child_process";
const args = process.argv.slice(2);
const opt = (n) => args[args.indexOf(n) + 1];
execFileSync("mailrun", ["send", "--segment", opt("--audience"), "--template", opt("--template")], { stdio: "inherit" });
X

# data, outputs, deployment files
printf '%s\n' 'stop,name' '1,Brackenford' '2,Corrow' '3,Marsh End' >"$P/data/stops.csv"
printf '%s\n' 'old,new' 'S1,S2' >"$P/data/class_map.csv"
printf '%s\n' 'date,place' '2031-04-12,Tarnside' >"$P/data/incidents.csv"
printf '%s\n' 'unit,seats' '17,120' '44,120' >"$P/data/vehicles.csv"
for f in weekend holiday; do printf '%s\n' 'train;dep' '2214;09:40' >"$P/out/$f.csv"; done
printf '%s\n' 'train;dep' '318;06:10' >"$P/out/spring/coast.csv"
printf '%s\n' '<timetable season="summer"/>' >"$P/out/summer.xml"
for l in tarn coast valley; do printf '<line id="%s"/>\n' "$l" >"$P/out/lines/$l.xml"; done
printf '%s\n' '{"line":"tarn","trains":[]}' >"$P/out/tarn.json"
printf '%s\n' '{"station":"Corrow","platform":"1"}' >"$P/out/boards/corrow.json"
printf '%s\n' '<h1>Departures</h1>' >"$P/out/kiosk/index.html"
: >"$P/out/shop.db"
tar -czf "$P/out/boards.tgz" -C "$P/out" boards
printf '%s\n' '5.1' >"$P/build/yardview/VERSION"
printf '%s\n' 'crewboard 4.2' >"$P/build/crewboard.txt"
tar -czf "$P/build/crewboard.tar.gz" -C "$P/build" crewboard.txt
cat >"$P/deploy/hosts.ini" <<'X'
[depots]
depot-1
depot-2
depot-3
depot-4
depot-5
X
cat >"$P/deploy/site.yml" <<'X'
- hosts: depots
  tasks:
    - name: install washplan
      ansible.builtin.copy: {src: ../build/, dest: /opt/washplan/}
      tags: washplan
X
cat >"$P/deploy/yardview.yaml" <<'X'
apiVersion: apps/v1
kind: Deployment
metadata: {name: yardview, namespace: yard}
spec:
  selector: {matchLabels: {app: yardview}}
  template:
    metadata: {labels: {app: yardview}}
    spec: {containers: [{name: yardview, image: "registry.valmere-rail.example/yardview:5.0"}]}
X
cat >"$P/deploy/crewboard.yml" <<'X'
services:
  crewboard: {image: "registry.valmere-rail.example/crewboard:4.2"}
X
printf '%s\n' 'apiVersion: v2' 'name: yardview' 'version: 5.1.0' >"$P/charts/yardview/Chart.yaml"
cat >"$P/.github/workflows/release.yml" <<'X'
on:
  workflow_dispatch:
    inputs: {app: {required: true}, site: {required: true}}
jobs:
  release:
    runs-on: self-hosted
    steps: [{run: 'shunt deploy ${{ inputs.app }} --site ${{ inputs.site }}'}]
X

if [ "$(id -u)" -eq 0 ]; then
  chown -R 1000:1000 "$R/home/user" "$R/srv/share"
else
  echo "root.sh: not root, files keep their present owner" >&2
fi
