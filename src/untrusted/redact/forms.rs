//! The forms of secrets.

/// What the secret in a form must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looks {
    /// Anything: the form leaves no doubt.
    Any,
    /// A value that stands for itself.
    Literal,
    /// The same, and not a plain word: digits, signs or capitals beside small letters.
    Chosen,
    /// The same, and random.
    Random,
    /// As random as base64 is: many digits, small letters and capitals.
    Dense,
}

/// A form in which secrets are written.
#[derive(Debug)]
pub(super) struct Form {
    /// Words of which every match contains one, in ASCII letters of any case; none: it may match anywhere.
    pub words: &'static [&'static str],
    /// The pattern; the group named `s` is the secret. It matches in linear time.
    pub pattern: &'static str,
    pub looks: Looks,
}

const fn form(words: &'static [&'static str], pattern: &'static str, looks: Looks) -> Form {
    Form { words, pattern, looks }
}

// `[^|;&\n]*?`: the part of one command of a shell line before an option
pub(super) const FORMS: &[Form] = &[
    // ---------------------------------------------------------------- keys
    form(
        &["private key"],
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:(?P<s>.*?))(?:-----END|\z)",
        Looks::Any,
    ),
    form(&["putty-user-key-file"], r"(?i)PuTTY-User-Key-File-\d+:(?s:(?P<s>.+))", Looks::Any),
    form(&["age-secret-key"], r"(?i)(?P<s>AGE-SECRET-KEY-1[0-9A-Z]{20,})", Looks::Any),
    // ---------------------------------------------------------------- tokens with a prefix
    form(&["sk-", "pk-", "rk-"], r"(?P<s>\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,})", Looks::Any),
    form(&["_live_", "_test_", "_prod_"], r"(?P<s>\b(?:sk|rk|pk|ak)_(?:live|test|prod)_[A-Za-z0-9]{8,})", Looks::Any),
    form(
        &["ghp", "gho", "ghu", "ghs", "ghr", "github_pat"],
        r"(?P<s>\b(?:ghp|gho|ghu|ghs|ghr|github_pat)[-_][A-Za-z0-9_]{20,})",
        Looks::Any,
    ),
    form(
        &["glpat", "gldt", "glrt", "glptt", "glft", "glimt", "glagent", "glcbt", "gloas", "glsoat", "glffct"],
        r"(?P<s>\b(?:glpat|gldt|glrt|glptt|glft|glimt|glagent|glcbt|gloas|glsoat|glffct)[-_][A-Za-z0-9_.-]{20,})",
        Looks::Any,
    ),
    form(&["xox", "xapp", "xwfp"], r"(?P<s>\b(?:xox[a-z]|xapp|xwfp)-[A-Za-z0-9-]{10,})", Looks::Any),
    form(
        &["hooks.slack.com", "discord.com/api", "discordapp.com/api", "webhook.office.com"],
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api(?:/v\d+)?/webhooks|webhook\.office\.com/webhookb2)/(?P<s>[A-Za-z0-9_/@.-]{16,})",
        Looks::Any,
    ),
    form(&["akia", "asia", "abia", "acca"], r"(?P<s>\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b)", Looks::Any),
    form(
        &["aiza", "ya29.", "gocspx", "1//0"],
        r"(?P<s>\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}|\b1//0[A-Za-z0-9_-]{30,})",
        Looks::Any,
    ),
    form(&["eyj"], r"(?P<s>\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)+)", Looks::Any),
    // package registries, clouds, code hosts and services that give their tokens a prefix
    form(
        &[
            "npm_",
            "pypi-",
            "rubygems_",
            "dckr_",
            "hf_",
            "r8_",
            "gsk_",
            "sbp_",
            "dop_v1_",
            "doo_v1_",
            "dor_v1_",
            "shpat_",
            "shpca_",
            "shppa_",
            "shpss_",
            "lin_api_",
            "figd_",
            "sntrys_",
            "sntryu_",
            "glsa_",
            "glc_",
            "ntn_",
            "whsec_",
            "tskey-",
            "pul-",
            "pmak-",
            "nrak-",
            "hvs.",
            "hvb.",
            "hvr.",
            "dapi",
            "atatt3",
            "pplx-",
            "xai-",
            "dp.pt.",
            "duffel_",
            "flwseck",
            "ops_ey",
            "sq0",
            "eaaa",
            "cio",
            "key-",
            "atlasv1",
            "8q~",
            "7q~",
        ],
        concat!(
            r"(?P<s>\b(?:npm|rubygems|dckr_pat|dckr_oat|hf|r8|gsk|sbp|dop_v1|doo_v1|dor_v1|shpat|shpca|shppa|shpss|lin_api",
            r"|figd|sntrys|sntryu|glsa|glc|ntn|whsec|duffel_(?:test|live)|ops)_[A-Za-z0-9+/=_.-]{20,}",
            r"|\b(?:pypi|pul|PMAK|NRAK|pplx|xai|tskey-[a-z]+|FLWSECK(?:_TEST)?)-[A-Za-z0-9_-]{20,}",
            r"|\b(?:hv[sbr]|dp\.pt)\.[A-Za-z0-9_-]{20,}|\bdapi[0-9a-f]{32}|\bATATT3[A-Za-z0-9_=-]{40,}",
            r"|\bsq0[a-z]{3}-[A-Za-z0-9_-]{22,}|\bEAAA[A-Za-z0-9_=+-]{50,}|\bcio[A-Za-z0-9]{32}\b|\bkey-[0-9a-f]{32}\b",
            r"|\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}|\b[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{30,})",
        ),
        Looks::Any,
    ),
    form(&["sg."], r"(?P<s>\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})", Looks::Any),
    form(&["sk"], r"(?P<s>\bSK[0-9a-f]{32}\b)", Looks::Any),
    form(&[":aa"], r"(?P<s>(?:\b|bot)\d{8,10}:AA[A-Za-z0-9_-]{30,})", Looks::Any),
    form(&[], r"(?P<s>\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})", Looks::Random),
    // hashes of passwords, as in /etc/shadow and htpasswd
    form(
        &["$1$", "$2", "$5$", "$6$", "$7$", "$y$", "$argon2", "$apr1$", "$scrypt", "$pbkdf2"],
        r"(?P<s>\$(?:1|2[abxy]?|5|6|7|y|apr1|argon2[a-z]*|scrypt|pbkdf2[a-z0-9-]*)\$[A-Za-z0-9./$=,+-]{20,})",
        Looks::Any,
    ),
    // ---------------------------------------------------------------- headers, cookies, addresses
    form(
        &["authorization"],
        r"(?i)authorization[\x22']?\s*[:=]\s*[\x22']?(?:[a-z][a-z0-9-]*\s+)?(?P<s>[^\s\x22'\\]{6,})",
        Looks::Literal,
    ),
    form(
        &["bearer", "basic", "token"],
        r"(?i)\b(?:bearer|basic|token)\s+(?P<s>[A-Za-z0-9._~+/=-]{12,})",
        Looks::Random,
    ),
    form(&["cookie"], r"(?i)\bcookie[\x22']?\s*[:=]\s*[\x22']?(?P<s>[^\s\x22'=]+=[^\x22'\r\n]{4,})", Looks::Literal),
    form(&["://"], r"(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@]*:(?P<s>[^\s/@]+)@", Looks::Literal),
    form(&["://"], r"(?i)\b[a-z][a-z0-9+.-]*://(?P<s>[^\s/:@?#]{16,})@", Looks::Random),
    form(
        &["signature=", "credential=", "security-token=", "sig="],
        r"(?i)[?&](?:x-(?:amz|goog)-)?(?:signature|credential|security-token|sig)=(?P<s>[^\s&\x22']{16,})",
        Looks::Literal,
    ),
    // ---------------------------------------------------------------- options of programs
    form(
        &["curl", "wget", "http", "xh ", "smbclient", "rpcclient", "lftp", "aria2c", "grpcurl", "ab "],
        r"\b(?:curl|wget|https?|xh|smbclient|rpcclient|lftp|aria2c|grpcurl|ab)\s(?:[^|;&\n]*?\s)?(?:-[uUA]\s*|--(?:proxy-)?user[ =])[\x22']?[^\s:%\x22'/=]*[:%](?P<s>[^\s\x22'/][^\s\x22']*)",
        Looks::Literal,
    ),
    form(
        &["curl", "wget", "http", "xh "],
        r"\b(?:curl|wget|https?|xh)\s(?:[^|;&\n]*?\s)?(?:-b\s*|--cookie[ =])[\x22']?(?P<s>[\w.-]+=[^\s\x22']{4,})",
        Looks::Literal,
    ),
    form(
        &["mysql", "mariadb", "7z"],
        r"\b(?:mysql\w*|mariadb[\w-]*|7z\w*)\s(?:[^|;&\n]*?\s)?-p[\x22']?(?P<s>[^\s\x22']{3,})",
        Looks::Literal,
    ),
    form(
        &["sshpass", "mongo", " login"],
        r"\b(?:sshpass|mongo\w*|(?:docker|podman|helm|az|oc|skopeo|buildah|nerdctl)\s[^|;&\n]*?\blogin)\s(?:[^|;&\n]*?\s)?-p\s*[\x22']?(?P<s>[^\s\x22'-][^\s\x22']{2,})",
        Looks::Literal,
    ),
    form(&["redis-cli"], r"\bredis-cli\s(?:[^|;&\n]*?\s)?-a\s*[\x22']?(?P<s>[^\s\x22']{3,})", Looks::Literal),
    form(&["ldap"], r"\bldap\w+\s(?:[^|;&\n]*?\s)?-w\s*[\x22']?(?P<s>[^\s\x22']{3,})", Looks::Literal),
    form(&["zip"], r"\b(?:zip|unzip)\s(?:[^|;&\n]*?\s)?-P\s*[\x22']?(?P<s>[^\s\x22']{3,})", Looks::Literal),
    form(&["pass:"], r"(?i)-(?:pass|passin|passout|k)[ =][\x22']?pass:(?P<s>[^\s\x22']+)", Looks::Literal),
    form(
        &["chpasswd", "sudo", "-stdin", "passphrase-fd"],
        r"(?i)\b(?:echo|printf)\s+(?:-n\s+)?[\x22']?(?:[^\s:\x22'|]+:)?(?P<s>[^\s\x22'|]{3,})[\x22']?\s*\|[^\n]*?(?:chpasswd|sudo\s+-\w*S|--(?:password|pass)-stdin|--passphrase-fd)",
        Looks::Literal,
    ),
    form(
        &["--"],
        r"(?i)\s--[a-z-]*(?:password|passwd|passphrase|pass|pwd)[ =][\x22']?(?P<s>[^\s\x22'-][^\s\x22']{2,})",
        Looks::Literal,
    ),
    form(
        &["--"],
        r"(?i)\s--[a-z-]*(?:token|secret|api-?key|access-?key|secret-?key|private-?key|credentials?)[ =][\x22']?(?P<s>[^\s\x22'-][^\s\x22']{7,})",
        Looks::Chosen,
    ),
    form(&["machine"], r"(?i)\bmachine\s+\S+\s+(?:login\s+\S+\s+)?password\s+(?P<s>\S+)", Looks::Literal),
    // ---------------------------------------------------------------- names
    form(
        &["pass", "pwd"],
        r"(?i)(?:password|passwd|passphrase|[_-]pass|\bpass|sshpass|[_-]pwd|\bpwd)\d*[\x22']?\s*(?:=|:=|=>)\s*[\x22']?(?P<s>[^\s\x22',;&)}]{3,})",
        Looks::Literal,
    ),
    form(
        &["pass", "pwd"],
        r"(?i)(?:password|passwd|passphrase|[_-]pass|\bpass|[_-]pwd|\bpwd)\d*[\x22']?\s*:\s*[\x22'](?P<s>[^\x22'\r\n]{3,})[\x22']",
        Looks::Literal,
    ),
    form(
        &["pass", "pwd"],
        r"(?i)(?:password|passwd|passphrase|[_-]pass|\bpass|[_-]pwd|\bpwd)\d*[\x22']?\s*:\s*(?P<s>[^\s\x22',;&)}]{4,})",
        Looks::Chosen,
    ),
    form(
        &["api", "secret", "token", "access", "account", "private", "preshared", "key-data", "auth", "credential"],
        r"(?i)(?:api[-_ ]?key|secret|token|access[-_]?key|account[-_]?key|private[-_]?key|preshared[-_]?key|secret[-_]?key|key-data|auth|credentials?)\d*[\x22']?\s*(?:[:=]|=>|:=)\s*[\x22']?(?P<s>[^\s\x22',;&)}]{8,})",
        Looks::Random,
    ),
    form(&["key"], r"(?i)[_-]key\d*[\x22']?\s*(?:[:=]|=>|:=)\s*[\x22']?(?P<s>[A-Za-z0-9+/=_.-]{20,})", Looks::Random),
    // the form of AWS's secret keys, without a name: neither hexadecimal nor a path
    form(&[], r"(?:^|[^A-Za-z0-9+/=_.-])(?P<s>[A-Za-z0-9+/]{40})(?:$|[^A-Za-z0-9+/=_.-])", Looks::Dense),
];
