use drover_api::kinds::ProjectNamespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use proptest::prelude::*;

use super::super::decide::tests::{at, project};
use super::super::{MADE_WITH_ANNOTATION, limits};
use super::*;

const PROJECTS: [&str; 3] = ["p", "q", "r"];
const NAMESPACES: [&str; 3] = ["a", "b", "c"];

/// What people, and chance, do.
#[derive(Clone, Debug)]
enum Event {
    /// A namespace enters a spec, to be adopted or not.
    Wish(usize, usize, bool),
    /// A namespace leaves a spec.
    Forgo(usize, usize),
    /// A project is deleted.
    End(usize),
    /// A namespace is deleted.
    Delete(usize),
    /// Somebody makes a namespace.
    Make(usize),
    /// The server looks; it is cut short after so many writes, and somebody makes a namespace
    /// before that one.
    Look(usize, usize, usize),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (0..3_usize, 0..3_usize, any::<bool>()).prop_map(|(p, n, a)| Event::Wish(p, n, a)),
        2 => (0..3_usize, 0..3_usize).prop_map(|(p, n)| Event::Forgo(p, n)),
        1 => (0..3_usize).prop_map(Event::End),
        2 => (0..3_usize).prop_map(Event::Delete),
        2 => (0..3_usize).prop_map(Event::Make),
        6 => (0..12_usize, 0..12_usize, 0..3_usize).prop_map(|(k, at, n)| Event::Look(k, at, n)),
    ];
    prop::collection::vec(event, 1..40)
}

/// A hub with projects, and a cluster with namespaces.
#[derive(Default)]
struct World {
    projects: BTreeMap<String, Project>,
    found: Found,
    /// For which project the server made the namespace with a UID; nothing for others' namespaces.
    made_for: BTreeMap<String, String>,
    uids: usize,
    memory: ProjectsMemory,
    writes: usize,
}

/// The server was stopped.
struct Stopped;

impl World {
    fn new() -> Self {
        let mut world = Self::default();
        for (age, name) in (0..).zip(PROJECTS) {
            world
                .projects
                .insert(name.to_owned(), project(name, age, ""));
        }
        world
    }

    fn put(&mut self, name: &str, mut meta: ObjectMeta) -> String {
        self.uids += 1;
        let uid = format!("uid-{}", self.uids);
        meta.uid = Some(uid.clone());
        self.found.insert(name.to_owned(), meta);
        uid
    }

    /// By somebody, who notes on it whatever the hub shows of a namespace of this name.
    fn make(&mut self, name: &str) {
        let statuses = self.projects.values().filter_map(|it| it.status.as_ref());
        let mut shown = statuses.flat_map(|status| &status.making);
        let note = shown.find(|making| making.name == name).map(|making| {
            let digest = making.digest.clone();
            (MADE_WITH_ANNOTATION.to_owned(), digest)
        });
        let meta = ObjectMeta {
            annotations: Some(note.into_iter().collect()),
            ..ObjectMeta::default()
        };
        self.put(name, meta);
    }

    fn listed(&self) -> Vec<Arc<Project>> {
        self.projects.values().cloned().map(Arc::new).collect()
    }

    /// Writes a status, and looks whether all is right.
    fn write(&mut self, uid: &str, status: ProjectStatus) {
        let before = self.projects[uid].status.clone().unwrap_or_default();
        let project = self.projects.get_mut(uid).unwrap();
        for own in &status.namespaces {
            if before.namespaces.contains(own) {
                continue;
            }
            let wanted = project
                .spec
                .namespaces
                .iter()
                .find(|it| it.name == own.name);
            let ours = self.made_for.get(&own.uid).is_some_and(|made| made == uid);
            let adopted = wanted.is_some_and(|wanted| wanted.adopt);
            assert!(ours || adopted, "{uid} got {own:?}, which it may not have");
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

    /// One more write; somebody may come before it, and it may be the last.
    fn step(&mut self, (last, at, name): (usize, usize, &str)) -> Result<(), Stopped> {
        if self.writes == at {
            self.make(name);
        }
        self.writes += 1;
        if self.writes > last {
            Err(Stopped)
        } else {
            Ok(())
        }
    }

    /// As `look` does, write by write.
    fn look(&mut self, cut: (usize, usize, &str)) -> Result<(), Stopped> {
        let found = self.found.clone();
        let (projects, plan) = loop {
            let projects = self.listed();
            let plan = decide(&projects, &found);
            let mut written = false;
            for project in &projects {
                let secrets = &mut self.memory.secrets;
                let Ok(announced) = announced(project, &plan[&uid(project)], secrets) else {
                    panic!("no random numbers");
                };
                if announced != project.status.clone().unwrap_or_default() {
                    self.step(cut)?;
                    self.write(&uid(project), announced);
                    written = true;
                }
            }
            if !written {
                break (projects, plan);
            }
        };
        for project in &projects {
            let standing = &plan[&uid(project)];
            let mut own = standing.keeps.clone();
            for (name, gained) in &standing.gains {
                self.step(cut)?;
                // The patch names the UID, so it fails where another is there by now.
                if self.found.get(name).and_then(|it| it.uid.as_ref()) == Some(gained) {
                    own.insert(name.clone(), gained.clone());
                }
            }
            for name in &standing.makes {
                self.step(cut)?;
                if self.found.contains_key(name) {
                    continue;
                }
                let secret = &self.memory.secrets[&(uid(project), name.clone())];
                let meta = limits::namespace(project, name, secret);
                let made = self.put(name, meta);
                self.made_for.insert(made.clone(), uid(project));
                own.insert(name.clone(), made);
            }
            self.step(cut)?;
            self.write(&uid(project), concluded(project, Some(&own)));
            if is_ending(project) {
                self.projects.remove(&uid(project));
            }
        }
        Ok(())
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Wish(p, n, adopt) => {
                self.happen(&Event::Forgo(p, n));
                if let Some(project) = self.projects.get_mut(PROJECTS[p]) {
                    let name = NAMESPACES[n].to_owned();
                    project.spec.namespaces.push(ProjectNamespace {
                        name,
                        adopt,
                        uid: None,
                    });
                }
            }
            Event::Forgo(p, n) => {
                if let Some(project) = self.projects.get_mut(PROJECTS[p]) {
                    project
                        .spec
                        .namespaces
                        .retain(|it| it.name != NAMESPACES[n]);
                }
            }
            Event::End(p) => {
                if let Some(project) = self.projects.get_mut(PROJECTS[p]) {
                    project.metadata.deletion_timestamp = Some(at(9));
                }
            }
            Event::Delete(n) => _ = self.found.remove(NAMESPACES[n]),
            Event::Make(n) => self.make(NAMESPACES[n]),
            Event::Look(last, at, n) => {
                self.writes = 0;
                if self.look((last, at, NAMESPACES[n])).is_err() {
                    self.memory = ProjectsMemory::default();
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_namespace_is_ever_two_projects_and_none_is_taken_that_nobody_gave(events in events()) {
        let mut world = World::new();
        for event in &events {
            world.happen(event);
        }
        // Left alone, it comes to rest, and everybody has what they can have.
        for _ in 0..3 {
            world.happen(&Event::Look(usize::MAX, usize::MAX, 0));
        }
        let plan = decide(&world.listed(), &world.found);
        for (name, project) in &world.projects {
            let standing = &plan[name];
            let at_rest = concluded(project, Some(&standing.keeps));
            prop_assert_eq!(Some(&at_rest), project.status.as_ref(), "{}", name);
            prop_assert_eq!((standing.gains.len(), standing.makes.len()), (0, 0), "{}", name);
        }
    }
}
