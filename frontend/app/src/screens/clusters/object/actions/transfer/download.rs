//! The form that downloads a file or a folder of a container.

use drover_ui_core::action::transfer::{
    ContainerPath, DOWNLOAD_PROTOCOLS, Incoming, Transfer, TransferProblem, download_command,
};
use drover_ui_core::messages::t;
use drover_ui_core::terminal::PodContainer;
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{Select, TextField};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::{TransferFoot, TransferForm, bytes, command};
use crate::exec::ExecSocket;
use crate::file::ReceivedFile;
use crate::screens::form::Refusal;
use crate::session::Session;

/// The number of bytes after which the page shows a new progress.
const PROGRESS_STEP: u64 = 256 * 1024;

/// Shows the form that downloads a file or a folder.
#[component]
pub(super) fn DownloadForm(form: TransferForm, containers: Vec<String>) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let container = RwSignal::new(containers.first().cloned().unwrap_or_default());
    let text = RwSignal::new(String::new());
    let received = RwSignal::new(None::<u64>);
    let path = Memo::new(move |_| text.with(|text| ContainerPath::parse(text)));
    let error = Signal::derive(move || {
        let is_invalid = path.with(Option::is_none) && text.with(|text| !text.is_empty());
        is_invalid.then(|| t().transfer.invalid_path().to_owned())
    });
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let Some(path) = path.get_untracked() else {
            return;
        };
        let container = form.container(container.get_untracked());
        let request = async move {
            let downloaded = download(&container, path, received).await;
            let _ = received.try_set(None);
            match downloaded {
                Ok(name) => Ok(name),
                Err(problem) => Err(form.explain(session, &container, problem).await),
            }
        };
        form.sending.send(request, move |name: String| {
            toasts.say(t().transfer.saved(&name));
            let _ = form.open.try_set(false);
        });
    };
    let line = move || {
        let path = path.get()?;
        let line = download_command(&form.container(container.get()), &path);
        Some(view! { <Code label=t().labels.command() text=line wraps=true/> })
    };
    let busy = form.sending.busy();
    let progress = move || {
        let received = received.get().filter(|_| busy.get())?;
        let words = t().transfer.received(&bytes(received));
        Some(view! {
            <div class="meter-row batch">
                <span>{words}</span>
                <progress aria-label=t().transfer.progress()></progress>
            </div>
        })
    };
    let options = containers.into_iter().map(|name| (name.clone(), name));
    view! {
        <form class="dialog-body" on:submit=submit>
            <Select label=t().transfer.container() options=options.collect() value=container/>
            <TextField
                label=t().transfer.path()
                value=text
                help=t().transfer.path_help().to_owned()
                error=error
                focused=true
            />
            <Refusal sending=form.sending/>
            {progress}
            {line}
            <TransferFoot
                form=form
                cancelled=t().transfer.cancelled()
                verb=t().transfer.download()
                disabled=Signal::derive(move || path.with(Option::is_none))
            />
        </form>
    }
}

/// Downloads a file, or a folder as an archive. Returns the name of the saved file.
async fn download(
    container: &PodContainer,
    path: ContainerPath,
    progress: RwSignal<Option<u64>>,
) -> Result<String, TransferProblem> {
    let mut transfer = Transfer::File(path);
    loop {
        match receive(container, &transfer, progress).await {
            Ok(file) => {
                let name = transfer.saved_as();
                let saved = file.save(&name);
                return saved.then_some(name).ok_or(TransferProblem::NotSaved);
            }
            Err(problem) => match transfer.instead(&problem) {
                Some(folder) => transfer = folder,
                None => return Err(problem),
            },
        }
    }
}

async fn receive(
    container: &PodContainer,
    transfer: &Transfer,
    progress: RwSignal<Option<u64>>,
) -> Result<ReceivedFile, TransferProblem> {
    let (path, program) = command(transfer, container);
    let mut socket = ExecSocket::open(&path, &DOWNLOAD_PROTOCOLS).await?;
    let (mut incoming, mut file) = (Incoming::new(program), ReceivedFile::default());
    let mut shown = 0;
    let _ = progress.try_set(Some(0));
    loop {
        let (channel, message) = socket.next().await?;
        if Incoming::is_content(channel) {
            let received = incoming.count(u64::from(message.length()))?;
            if !file.append(&message) {
                return Err(TransferProblem::NotSaved);
            }
            if received - shown >= PROGRESS_STEP {
                shown = received;
                let _ = progress.try_set(Some(received));
            }
        } else if let Some(result) = incoming.read(channel, &message.to_vec()) {
            return result.map(|()| file);
        }
    }
}
