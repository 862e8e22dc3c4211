use super::*;

fn name(text: &str) -> RepositoryName {
    text.parse().unwrap()
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn new_repository_is_empty_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let repositories = Repositories::open(folder.path().join("git")).unwrap();
    assert_eq!(repositories.list().unwrap(), []);
    repositories.create(&name("b")).await.unwrap();
    repositories.create(&name("a")).await.unwrap();
    assert_eq!(repositories.list().unwrap(), [name("a"), name("b")]);
    assert!(repositories.contains(&name("a")) && !repositories.contains(&name("c")));
    let path = folder.path().join("git/a.git");
    assert_eq!(git(&path, &["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    assert!(!path.join("hooks").exists());
    let again = repositories.create(&name("a")).await;
    assert!(matches!(again, Err(CreateError::Exists(_))), "{again:?}");
}

#[tokio::test]
async fn first_commit_contains_exactly_the_given_files() {
    let folder = tempfile::tempdir().unwrap();
    let repositories = Repositories::open(folder.path()).unwrap();
    let commit = InitialCommit {
        files: &[
            ("README.md", "read\n"),
            ("a/.gitignore", "*\n"),
            ("a/b.yaml", "c: d\n"),
        ],
        author: "Ann",
        email: "ann@example.invalid",
        message: "Add files",
    };
    repositories
        .create_with(&name("a"), Some(commit))
        .await
        .unwrap();
    let path = folder.path().join("a.git");
    let log = git(&path, &["log", "--format=%an <%ae> %cn %s", "main"]);
    assert_eq!(log, "Ann <ann@example.invalid> Ann Add files\n");
    let files = git(&path, &["ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(files, "README.md\na/.gitignore\na/b.yaml\n");
    assert_eq!(git(&path, &["show", "main:a/b.yaml"]), "c: d\n");
    assert!(!path.join("index").exists());
    git(&path, &["fsck", "--strict"]);
}

#[tokio::test]
async fn failed_creation_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let repositories = Repositories::open(folder.path()).unwrap();
    let commit = InitialCommit {
        files: &[("../a", "")],
        author: "Ann",
        email: "ann@example.invalid",
        message: "Add files",
    };
    let failed = repositories.create_with(&name("a"), Some(commit)).await;
    assert!(matches!(failed, Err(CreateError::Path(_))), "{failed:?}");
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "only the empty folder remains");
    fs::create_dir_all(folder.path().join(".new-1/repository")).unwrap();
    Repositories::open(folder.path()).unwrap();
    assert!(!folder.path().join(".new-1").exists());
}
