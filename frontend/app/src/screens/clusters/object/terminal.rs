//! The tab that opens terminals in a pod or on a node.

use drover_ui_core::kind::Kind;
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::messages::t;
use drover_ui_core::object::Object;
use drover_ui_core::problem::Problem;
use drover_ui_core::terminal::node_shell::{NODE_IMAGE, NodeShell};
use drover_ui_core::terminal::{PodContainer, TerminalProgram, running_containers};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::field::{Select, TextField};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState};
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::command::CliCommand;
use crate::screens::pod_permission::may_on_pods;
use crate::terminals::Terminals;

/// The state of the form that opens a terminal.
#[derive(Clone, Copy)]
struct Opening {
    busy: RwSignal<bool>,
    problem: RwSignal<Option<Problem>>,
    progress: RwSignal<Option<String>>,
}

impl Opening {
    fn new() -> Self {
        Self {
            busy: RwSignal::new(false),
            problem: RwSignal::new(None),
            progress: RwSignal::new(None),
        }
    }

    fn run(self, work: impl Future<Output = Result<(), Problem>> + 'static) {
        self.busy.set(true);
        self.problem.set(None);
        spawn_local(async move {
            let result = work.await;
            // The user can leave the screen before the terminal is open.
            self.busy.try_set(false);
            self.progress.try_set(None);
            self.problem.try_set(result.err());
        });
    }
}

#[component]
fn OpeningState(opening: Opening) -> impl IntoView {
    view! {
        {move || opening.problem.get().map(|problem| view! { <Banner mood=BannerKind::Error>{problem.message}</Banner> })}
        <p role="status">{opening.progress}</p>
    }
}

/// Shows the form that opens a terminal in a pod or on a node.
#[component]
pub(super) fn TerminalTab(named: KubectlObject, object: Signal<Object>) -> impl IntoView {
    if named.kind == Kind::NODES {
        view! { <NodeTerminal named=named/> }.into_any()
    } else {
        view! { <PodTerminal named=named object=object/> }.into_any()
    }
}

/// Shows the form that opens a terminal in a pod.
#[component]
fn PodTerminal(named: KubectlObject, object: Signal<Object>) -> impl IntoView {
    let running = Memo::new(move |_| object.with(running_containers));
    let named = StoredValue::new(named);
    move || match running.get() {
        containers if containers.is_empty() => view! {
            <EmptyState
                reason=EmptyReason::Empty
                title=t().terminal.no_containers()
                advice=t().terminal.no_containers_advice()
            />
        }
        .into_any(),
        containers => view! { <PodForm named=named.get_value() containers=containers/> }.into_any(),
    }
}

#[component]
fn PodForm(named: KubectlObject, containers: Vec<String>) -> impl IntoView {
    let terminals = expect_context::<Terminals>();
    let namespace = named.namespace.clone().unwrap_or_default();
    let chosen = containers.first().cloned().unwrap_or_default();
    let (container, program) = (
        RwSignal::new(chosen),
        RwSignal::new(TerminalProgram::default().key().to_owned()),
    );
    let (command, opening) = (RwSignal::new(String::new()), Opening::new());
    let in_namespace = Signal::stored(namespace.clone());
    let may_exec = may_on_pods(&named.cluster, in_namespace, "create", "exec");
    let may_attach = may_on_pods(&named.cluster, in_namespace, "create", "attach");
    let program_of = move || TerminalProgram::of_key(&program.get());
    let missing = Signal::derive(move || match program_of() {
        TerminalProgram::Attach if !may_attach.get() => Some(t().terminal.no_attach().to_owned()),
        TerminalProgram::Shell | TerminalProgram::Command if !may_exec.get() => {
            Some(t().terminal.no_exec().to_owned())
        }
        _ => None,
    });
    let target = Memo::new(move |_| PodContainer {
        cluster: named.cluster.clone(),
        namespace: namespace.clone(),
        pod: named.name.clone(),
        container: container.get(),
    });
    let no_command = Signal::derive(move || {
        program_of() == TerminalProgram::Command && command.with(|text| text.trim().is_empty())
    });
    let open = move |()| {
        let target = target.get_untracked();
        let program = TerminalProgram::of_key(&program.get_untracked());
        let request = target.request(program, &command.get_untracked());
        opening.run(async move { terminals.open_in_pod(&target, &request).await });
    };
    let options = containers.into_iter().map(|name| (name.clone(), name));
    let programs = TerminalProgram::ALL.map(|it| (it.key().to_owned(), it.words().to_owned()));
    let custom = move || {
        (program_of() == TerminalProgram::Command).then(|| {
            view! { <TextField label=t().terminal.custom() value=command help=t().terminal.custom_help().to_owned()/> }
        })
    };
    let line = Signal::derive(move || target.with(|it| it.kubectl(program_of(), &command.get())));
    view! {
        <div class="stack">
            <div class="terminal-form">
                <Select label=t().log.container() options=options.collect() value=container/>
                <Select label=t().terminal.program() options=programs.to_vec() value=program/>
                {custom}
                <Button
                    weight=Weight::Primary
                    icon=Icon::Terminal
                    busy=opening.busy
                    disabled=no_command
                    missing=missing
                    on_press=open
                >
                    {t().terminal.open()}
                </Button>
            </div>
            <OpeningState opening=opening/>
            <footer class="page-foot"><CliCommand line=line/></footer>
        </div>
    }
}

/// Shows the form that opens a shell on a node.
#[component]
fn NodeTerminal(named: KubectlObject) -> impl IntoView {
    let terminals = expect_context::<Terminals>();
    let image = RwSignal::new(NODE_IMAGE.to_owned());
    let namespace = RwSignal::new("default".to_owned());
    let opening = Opening::new();
    let may_run = may_on_pods(&named.cluster, namespace.into(), "create", "");
    let may_attach = may_on_pods(&named.cluster, namespace.into(), "create", "attach");
    let missing = Signal::derive(move || {
        let allowed = may_run.get() && may_attach.get();
        (!allowed).then(|| t().terminal.no_node_shell().to_owned())
    });
    let shell = Memo::new(move |_| NodeShell {
        cluster: named.cluster.clone(),
        node: named.name.clone(),
        namespace: namespace.get().trim().to_owned(),
        image: image.get().trim().to_owned(),
    });
    let incomplete = Signal::derive(move || {
        shell.with(|shell| shell.namespace.is_empty() || shell.image.is_empty())
    });
    let open = move |()| {
        let shell = shell.get_untracked();
        let progress = move |words: String| drop(opening.progress.try_set(Some(words)));
        opening.run(async move { terminals.open_on_node(&shell, progress).await });
    };
    view! {
        <div class="stack">
            <p>{t().terminal.node_help()}</p>
            <div class="terminal-form">
                <TextField label=t().terminal.image() value=image help=t().terminal.image_help().to_owned()/>
                <TextField label=t().labels.namespace() value=namespace/>
                <Button
                    weight=Weight::Primary
                    icon=Icon::Terminal
                    busy=opening.busy
                    disabled=incomplete
                    missing=missing
                    on_press=open
                >
                    {t().terminal.open_node()}
                </Button>
            </div>
            <OpeningState opening=opening/>
            <footer class="page-foot"><CliCommand line=Signal::derive(move || shell.with(NodeShell::kubectl))/></footer>
        </div>
    }
}
