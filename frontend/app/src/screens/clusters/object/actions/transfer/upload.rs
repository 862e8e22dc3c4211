//! The form that uploads files to a folder of a container.

use drover_ui_core::action::transfer::{
    ContainerPath, Incoming, MAX_BYTES, Transfer, TransferProblem, UPLOAD_PROTOCOLS, is_file_name,
    upload_command,
};
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::terminal::PodContainer;
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{Select, TextField, unique};
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::toast::Toasts;
use futures::future::{Either, select};
use js_sys::Uint8Array;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, HtmlInputElement};

use super::{TransferFoot, TransferForm, bytes, command};
use crate::exec::{ExecInput, ExecSocket, PART_BYTES};
use crate::screens::form::Refusal;
use crate::session::Session;

/// The progress of the current file.
#[derive(Clone, PartialEq)]
struct FileProgress {
    name: String,
    sent: u64,
    size: u64,
}

/// Shows the form that uploads files.
#[component]
pub(super) fn UploadForm(form: TransferForm, containers: Vec<String>) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let container = RwSignal::new(containers.first().cloned().unwrap_or_default());
    let text = RwSignal::new("/tmp".to_owned());
    let files = RwSignal::new_local(Vec::<File>::new());
    let progress = RwSignal::new(None::<FileProgress>);
    let folder = Memo::new(move |_| text.with(|text| ContainerPath::parse(text)));
    let error = Signal::derive(move || {
        let is_invalid = folder.with(Option::is_none);
        is_invalid.then(|| t().transfer.invalid_path().to_owned())
    });
    let rejected = Signal::derive_local(move || files.with(|files| files.iter().find_map(reject)));
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let (Some(folder), files) = (folder.get_untracked(), files.get_untracked()) else {
            return;
        };
        let container = form.container(container.get_untracked());
        let (count, shown) = (files.len(), folder.as_str().to_owned());
        let request = async move {
            let uploaded = upload_all(&container, &folder, files, progress).await;
            let _ = progress.try_set(None);
            match uploaded {
                Ok(()) => Ok(()),
                Err((name, problem)) => {
                    let problem = form.explain(session, &container, problem).await;
                    let message = t().transfer.incomplete(&name, &problem.message);
                    Err(Problem { message, ..problem })
                }
            }
        };
        form.sending.send(request, move |()| {
            toasts.say(t().transfer.uploaded(count, &shown));
            let _ = form.open.try_set(false);
        });
    };
    let line = move || {
        let (folder, container) = (folder.get()?, form.container(container.get()));
        let line = |file: &File| upload_command(&container, &folder, &file.name());
        let lines: Vec<_> = files.with(|files| files.iter().map(line).collect());
        let lines = (!lines.is_empty()).then(|| lines.join("\n"))?;
        Some(view! { <Code label=t().labels.command() text=lines wraps=true/> })
    };
    let busy = form.sending.busy();
    let incomplete = Signal::derive_local(move || {
        folder.with(Option::is_none) || files.with(Vec::is_empty) || rejected.with(Option::is_some)
    });
    let disabled = RwSignal::new(true);
    Effect::new(move || disabled.set(incomplete.get()));
    let options = containers.into_iter().map(|name| (name.clone(), name));
    view! {
        <form class="dialog-body" on:submit=submit>
            <Select label=t().transfer.container() options=options.collect() value=container/>
            <TextField
                label=t().transfer.folder()
                value=text
                help=t().transfer.folder_help().to_owned()
                error=error
            />
            <FileField files=files/>
            {move || rejected.get().map(|words| view! { <Banner mood=BannerKind::Error>{words}</Banner> })}
            <Refusal sending=form.sending/>
            {move || progress.get().filter(|_| busy.get()).map(|sent| view! { <Progress sent=sent/> })}
            {line}
            <TransferFoot
                form=form
                cancelled=t().transfer.upload_cancelled()
                verb=t().transfer.upload()
                disabled=disabled
            />
        </form>
    }
}

/// Shows the field that selects files of the user's computer.
#[component]
fn FileField(files: RwSignal<Vec<File>, LocalStorage>) -> impl IntoView {
    let id = unique("files");
    let choose = move |event: web_sys::Event| {
        let input = event
            .target()
            .and_then(|it| it.dyn_into::<HtmlInputElement>().ok());
        let Some(list) = input.and_then(|input| input.files()) else {
            return;
        };
        files.set((0..list.length()).filter_map(|at| list.get(at)).collect());
    };
    view! {
        <div class="field">
            <label for=id.clone()>{t().transfer.files()}</label>
            <input id=id type="file" multiple=true on:change=choose/>
        </div>
    }
}

#[component]
fn Progress(sent: FileProgress) -> impl IntoView {
    let words = t()
        .transfer
        .sent(&sent.name, &bytes(sent.sent), &bytes(sent.size));
    view! {
        <div class="meter-row batch">
            <span>{words}</span>
            <progress
                max=sent.size.max(1).to_string()
                value=sent.sent.to_string()
                aria-label=t().transfer.progress()
            ></progress>
        </div>
    }
}

/// Returns the reason why a file cannot be uploaded.
fn reject(file: &File) -> Option<String> {
    let name = file.name();
    if !is_file_name(&name) {
        return Some(t().transfer.invalid_name(&name));
    }
    let problem = (size(file) > MAX_BYTES).then(|| TransferProblem::TooLarge.words())?;
    Some(t().transfer.incomplete(&name, &problem))
}

/// Returns the size of a file in bytes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a size is a whole number below 2^53"
)]
fn size(file: &File) -> u64 {
    file.size() as u64
}

/// Uploads files. Stops at the first error, and returns the name of the file.
async fn upload_all(
    container: &PodContainer,
    folder: &ContainerPath,
    files: Vec<File>,
    progress: RwSignal<Option<FileProgress>>,
) -> Result<(), (String, TransferProblem)> {
    for file in files {
        let name = file.name();
        let transfer = Transfer::Upload {
            folder: folder.clone(),
            name: name.clone(),
        };
        let uploaded = upload(container, &transfer, &file, progress).await;
        uploaded.map_err(|problem| (name, problem))?;
    }
    Ok(())
}

/// Uploads a file. Returns when the program has written the file.
async fn upload(
    container: &PodContainer,
    transfer: &Transfer,
    file: &File,
    progress: RwSignal<Option<FileProgress>>,
) -> Result<(), TransferProblem> {
    let (path, program) = command(transfer, container);
    let mut socket = ExecSocket::open(&path, &UPLOAD_PROTOCOLS).await?;
    let input = socket.input();
    let sending = Box::pin(send(&input, file, progress));
    let ended = Box::pin(socket.result(Incoming::of_upload(program, size(file))));
    match select(sending, ended).await {
        // The command can fail before it has read the complete file.
        Either::Right((result, _)) => result,
        Either::Left((sent, ended)) => {
            sent?;
            ended.await
        }
    }
}

/// Sends the content of a file.
async fn send(
    input: &ExecInput,
    file: &File,
    progress: RwSignal<Option<FileProgress>>,
) -> Result<(), TransferProblem> {
    let (name, size) = (file.name(), size(file));
    let mut position = 0;
    while position < size {
        let end = size.min(position + u64::from(PART_BYTES));
        let part = read(file, position, end).await;
        let part = part.ok_or_else(|| TransferProblem::UnreadableFile(name.clone()))?;
        input.send(&part).await?;
        position = end;
        let sent = FileProgress {
            name: name.clone(),
            sent: position.saturating_sub(u64::from(input.waiting())),
            size,
        };
        let _ = progress.try_set(Some(sent));
    }
    input.end()
}

/// Reads a part of a file. Returns `None` if the file was changed or deleted.
#[expect(
    clippy::cast_precision_loss,
    reason = "the size of a file is below 2^53"
)]
async fn read(file: &File, start: u64, end: u64) -> Option<Uint8Array> {
    let part = file.slice_with_f64_and_f64(start as f64, end as f64).ok()?;
    let buffer = JsFuture::from(part.array_buffer()).await.ok()?;
    let part = Uint8Array::new(&buffer);
    (u64::from(part.length()) == end - start).then_some(part)
}
