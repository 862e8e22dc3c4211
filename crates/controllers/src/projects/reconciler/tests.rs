use drover_api::kinds::ProjectNamespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use proptest::prelude::*;

use super::super::decide::tests::{at, project};
use super::super::{CREATED_WITH_ANNOTATION, limits};
use super::*;

const PROJECTS: [&str; 3] = ["p", "q", "r"];
const NAMESPACES: [&str; 3] = ["a", "b", "c"];

/// A random action of a user, or a reconciliation with a random failure.
#[derive(Clone, Debug)]
enum Event {
    /// A user adds a namespace to a project's spec, with or without adoption.
    AddNamespace(usize, usize, bool),
    /// A user removes a namespace from a project's spec.
    RemoveNamespace(usize, usize),
    /// A user deletes a project.
    DeleteProject(usize),
    /// A user deletes a namespace.
    DeleteNamespace(usize),
    /// A user creates a namespace.
    CreateNamespace(usize),
    /// The server reconciles and stops after a number of writes (first value). Before one of the
    /// writes (second value), a user creates a namespace (third value).
    Reconcile(usize, usize, usize),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (0..3_usize, 0..3_usize, any::<bool>()).prop_map(|(p, n, a)| Event::AddNamespace(p, n, a)),
        2 => (0..3_usize, 0..3_usize).prop_map(|(p, n)| Event::RemoveNamespace(p, n)),
        1 => (0..3_usize).prop_map(Event::DeleteProject),
        2 => (0..3_usize).prop_map(Event::DeleteNamespace),
        2 => (0..3_usize).prop_map(Event::CreateNamespace),
        6 => (0..12_usize, 0..12_usize, 0..3_usize).prop_map(|(k, at, n)| Event::Reconcile(k, at, n)),
    ];
    prop::collection::vec(event, 1..40)
}

/// A hub with projects, and a cluster with namespaces.
#[derive(Default)]
struct SimulatedHub {
    projects: BTreeMap<String, Project>,
    found: Namespaces,
    /// The project for which the server created a namespace, by namespace UID. Namespaces that
    /// users created have no entry.
    created_for: BTreeMap<String, String>,
    uids: usize,
    memory: ProjectsMemory,
    writes: usize,
}

/// The error of an interrupted reconciliation.
struct Stopped;

impl SimulatedHub {
    fn new() -> Self {
        let mut hub = Self::default();
        for (age, name) in (0..).zip(PROJECTS) {
            hub.projects.insert(name.to_owned(), project(name, age, ""));
        }
        hub
    }

    fn put(&mut self, name: &str, mut meta: ObjectMeta) -> String {
        self.uids += 1;
        let uid = format!("uid-{}", self.uids);
        meta.uid = Some(uid.clone());
        self.found.insert(name.to_owned(), meta);
        uid
    }

    /// Creates a namespace as a user who copies the public values that the hub shows for this name.
    fn create_namespace(&mut self, name: &str) {
        let statuses = self.projects.values().filter_map(|it| it.status.as_ref());
        let mut shown = statuses.flat_map(|status| &status.making);
        let note = shown.find(|making| making.name == name).map(|making| {
            let digest = making.digest.clone();
            (CREATED_WITH_ANNOTATION.to_owned(), digest)
        });
        let meta = ObjectMeta {
            annotations: Some(note.into_iter().collect()),
            ..ObjectMeta::default()
        };
        self.put(name, meta);
    }

    fn projects_in_order(&self) -> Vec<Arc<Project>> {
        self.projects.values().cloned().map(Arc::new).collect()
    }

    /// Writes a status, and checks the invariants.
    fn write(&mut self, uid: &str, status: ProjectStatus) {
        let before = self.projects[uid].status.clone().unwrap_or_default();
        let project = self.projects.get_mut(uid).unwrap();
        for own in &status.namespaces {
            if before.namespaces.contains(own) {
                continue;
            }
            let expected = project
                .spec
                .namespaces
                .iter()
                .find(|it| it.name == own.name);
            let ours = self
                .created_for
                .get(&own.uid)
                .is_some_and(|created| created == uid);
            let adopted = expected.is_some_and(|expected| expected.adopt);
            assert!(ours || adopted, "{uid} owns {own:?} without permission");
        }
        project.status = Some(status);
        let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
        for (uid, project) in &self.projects {
            for own in project.status.iter().flat_map(|status| &status.namespaces) {
                let other = owners.insert(&own.name, uid);
                assert_eq!(other, None, "{} has two owners", own.name);
            }
        }
    }

    /// Counts a write. Before write number `at`, simulates a user who creates the namespace `name`.
    /// Returns an error after `last` writes, to simulate a server that stops.
    fn step(&mut self, (last, at, name): (usize, usize, &str)) -> Result<(), Stopped> {
        if self.writes == at {
            self.create_namespace(name);
        }
        self.writes += 1;
        if self.writes > last {
            Err(Stopped)
        } else {
            Ok(())
        }
    }

    /// Performs a reconciliation with the same order of writes as `apply_projects`.
    fn apply_projects(&mut self, interruption: (usize, usize, &str)) -> Result<(), Stopped> {
        let found = self.found.clone();
        let (projects, decisions) = loop {
            let projects = self.projects_in_order();
            let decisions = decide(&projects, &found);
            let mut written = false;
            for project in &projects {
                let secrets = &mut self.memory.secrets;
                let Ok(announced_status) =
                    announced_status(project, &decisions[&uid(project)], secrets)
                else {
                    panic!("random numbers are available");
                };
                if announced_status != project.status.clone().unwrap_or_default() {
                    self.step(interruption)?;
                    self.write(&uid(project), announced_status);
                    written = true;
                }
            }
            if !written {
                break (projects, decisions);
            }
        };
        for project in &projects {
            let decision = &decisions[&uid(project)];
            let mut own = decision.retained.clone();
            for (name, gained) in &decision.gained {
                self.step(interruption)?;
                // The patch contains the UID, so it fails for a recreated namespace.
                if self.found.get(name).and_then(|it| it.uid.as_ref()) == Some(gained) {
                    own.insert(name.clone(), gained.clone());
                }
            }
            for name in &decision.to_create {
                self.step(interruption)?;
                if self.found.contains_key(name) {
                    continue;
                }
                let secret = &self.memory.secrets[&(uid(project), name.clone())];
                let meta = limits::namespace(project, name, secret);
                let created = self.put(name, meta);
                self.created_for.insert(created.clone(), uid(project));
                own.insert(name.clone(), created);
            }
            self.step(interruption)?;
            self.write(&uid(project), resulting_status(project, Some(&own)));
            if is_being_deleted(project) {
                self.projects.remove(&uid(project));
            }
        }
        Ok(())
    }

    fn perform(&mut self, event: &Event) {
        match *event {
            Event::AddNamespace(p, n, adopt) => {
                self.perform(&Event::RemoveNamespace(p, n));
                if let Some(project) = self.projects.get_mut(PROJECTS[p]) {
                    let name = NAMESPACES[n].to_owned();
                    project.spec.namespaces.push(ProjectNamespace {
                        name,
                        adopt,
                        uid: None,
                    });
                }
            }
            Event::RemoveNamespace(p, n) => {
                if let Some(project) = self.projects.get_mut(PROJECTS[p]) {
                    project
                        .spec
                        .namespaces
                        .retain(|it| it.name != NAMESPACES[n]);
                }
            }
            Event::DeleteProject(p) => {
                if let Some(project) = self.projects.get_mut(PROJECTS[p]) {
                    project.metadata.deletion_timestamp = Some(at(9));
                }
            }
            Event::DeleteNamespace(n) => _ = self.found.remove(NAMESPACES[n]),
            Event::CreateNamespace(n) => self.create_namespace(NAMESPACES[n]),
            Event::Reconcile(last, at, n) => {
                self.writes = 0;
                if self.apply_projects((last, at, NAMESPACES[n])).is_err() {
                    self.memory = ProjectsMemory::default();
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn namespace_belongs_to_at_most_one_project_and_is_adopted_only_on_request(events in events()) {
        let mut hub = SimulatedHub::new();
        for event in &events {
            hub.perform(event);
        }
        // Without further events, the state converges and every project owns all available
        // namespaces.
        for _ in 0..3 {
            hub.perform(&Event::Reconcile(usize::MAX, usize::MAX, 0));
        }
        let decisions = decide(&hub.projects_in_order(), &hub.found);
        for (name, project) in &hub.projects {
            let decision = &decisions[name];
            let converged = resulting_status(project, Some(&decision.retained));
            prop_assert_eq!(Some(&converged), project.status.as_ref(), "{}", name);
            prop_assert_eq!((decision.gained.len(), decision.to_create.len()), (0, 0), "{}", name);
        }
    }
}
