//! Certificates and proxies: a gateway on the loopback with a certificate of its own
//! authority, and a proxy that opens tunnels to it.

use std::fs;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use harness::{Answer, Provider};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ServerConfig, crypto::ring};

use crate::shell::{Ran, Shell, end};
use crate::stage::QUESTION;

/// A host name that no resolver knows, so that only the proxy can reach it.
const NAME: &str = "gateway.invalid";

/// The network of a company between a user and a provider.
struct Company {
    provider: Provider,
    shell: Shell,
    gateway: SocketAddr,
    proxy: SocketAddr,
    /// The targets that the proxy was asked for.
    asked: Arc<Mutex<Vec<String>>>,
    _runtime: Runtime,
}

impl Company {
    fn new<const N: usize>(answers: [Answer; N]) -> Self {
        let provider = Provider::anthropic(answers);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let shell = Shell::new(&provider);
        shell.write("question.chat", QUESTION);
        shell.configure("[parameters]\nmax_retries = 0\n");
        let acceptor = acceptor(&shell);
        let asked = Arc::new(Mutex::new(Vec::new()));
        let bind = || runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let (tls, tunnels) = (bind(), bind());
        let addresses = (tls.local_addr().unwrap(), tunnels.local_addr().unwrap());
        runtime.spawn(unwrap_tls(tls, acceptor, provider.address()));
        runtime.spawn(open_tunnels(tunnels, addresses.0, Arc::clone(&asked)));
        Self {
            provider,
            shell,
            gateway: addresses.0,
            proxy: addresses.1,
            asked,
            _runtime: runtime,
        }
    }

    /// Runs `flemma send` with these variables.
    #[track_caller]
    fn send(&self, variables: &[(&str, &str)]) -> Ran {
        let mut command = self.shell.command(&["send", "question.chat"]);
        let at = format!("https://{}", self.gateway);
        command
            .env("ANTHROPIC_BASE_URL", at)
            .envs(variables.iter().copied());
        end(command.spawn().unwrap())
    }

    fn authority(&self) -> String {
        self.shell.path("ca.pem").to_string_lossy().into_owned()
    }

    /// Checks that `flemma send` failed without a request. Returns its error.
    #[track_caller]
    fn fails(&self, variables: &[(&str, &str)], said: &[&str]) {
        let ran = self.send(variables);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        for part in said {
            assert!(ran.err.contains(part), "{part:?} in {ran:?}");
        }
        assert_eq!(self.shell.read("question.chat"), QUESTION);
    }

    #[track_caller]
    fn works(&self, variables: &[(&str, &str)]) {
        let ran = self.send(variables);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(0), "Well.\n"),
            "{ran:?}"
        );
    }
}

/// A certificate of an unknown authority. The certificate of the authority is in `ca.pem`.
fn acceptor(shell: &Shell) -> TlsAcceptor {
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = authority.self_signed(&key).unwrap();
    fs::write(shell.path("ca.pem"), certificate.pem()).unwrap();
    let issuer = rcgen::Issuer::new(authority, key);
    let own = rcgen::KeyPair::generate().unwrap();
    let names = ["127.0.0.1", NAME].map(str::to_owned);
    let params = rcgen::CertificateParams::new(names).unwrap();
    let certificate = params.signed_by(&own, &issuer).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth();
    let config = config
        .with_single_cert(vec![certificate.der().clone()], own.into())
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

async fn unwrap_tls(listener: TcpListener, acceptor: TlsAcceptor, provider: SocketAddr) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            // A client that does not trust the certificate disconnects here.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                return;
            };
            let mut behind = TcpStream::connect(provider).await.unwrap();
            let _ = copy_bidirectional(&mut stream, &mut behind).await;
        });
    }
}

/// A proxy that connects every host name to the gateway.
async fn open_tunnels(listener: TcpListener, to: SocketAddr, asked: Arc<Mutex<Vec<String>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let asked = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n")
                && stream.read_line(&mut head).await.is_ok_and(|it| it > 0)
            {}
            asked
                .lock()
                .unwrap()
                .push(head.lines().next().unwrap_or_default().to_owned());
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let mut behind = TcpStream::connect(to).await.unwrap();
            let _ = copy_bidirectional(&mut stream, &mut behind).await;
        });
    }
}

fn answering() -> [Answer; 1] {
    [Answer::says("Well.")]
}

#[test]
fn an_unknown_certificate_authority_is_refused_with_advice() {
    let company = Company::new(answering());
    let said = [
        "UnknownIssuer",
        "so nothing was sent",
        "parameters.anthropic.ca_file",
        "$SSL_CERT_FILE",
    ];
    company.fails(&[], &said);
    assert_eq!(company.provider.requests().len(), 0);
}

#[test]
fn an_authority_can_be_added_by_environment_or_options() {
    let company = Company::new(["Well.", "Well."].map(Answer::says));
    let authority = company.authority();
    company.works(&[("SSL_CERT_FILE", authority.as_str())]);
    company.shell.write("question.chat", QUESTION);
    company.shell.configure(&format!(
        "[parameters.anthropic]\nca_file = \"{authority}\"\n"
    ));
    company.works(&[]);
}

#[test]
fn a_file_without_certificates_is_reported() {
    let company = Company::new(answering());
    for (name, said) in [
        ("none.pem", "cannot be read"),
        ("question.chat", "contains no certificate"),
    ] {
        let path = company.shell.path(name);
        let path = path.to_string_lossy();
        company
            .shell
            .configure(&format!("[parameters.anthropic]\nca_file = \"{path}\"\n"));
        company.fails(&[], &[&path, said, "ca_file in parameters"]);
    }
}

#[test]
fn a_proxy_is_used_unless_excluded() {
    let company = Company::new(answering());
    let (proxy, authority) = (format!("http://{}", company.proxy), company.authority());
    let base_url = format!("https://{NAME}");
    let through = [
        ("HTTPS_PROXY", proxy.as_str()),
        ("SSL_CERT_FILE", &authority),
        ("ANTHROPIC_BASE_URL", &base_url),
    ];
    let past = [&through[..], &[("NO_PROXY", NAME)]].concat();
    company.fails(&past, &[NAME, "cannot be reached"]);
    assert_eq!(*company.asked.lock().unwrap(), Vec::<String>::new());
    company.works(&through);
    // The list of models is fetched alongside the request, maybe through a connection of its own.
    let asked = company.asked.lock().unwrap().clone();
    let connect = format!("CONNECT {NAME}:443 HTTP/1.1");
    assert!(
        !asked.is_empty() && asked.iter().all(|it| *it == connect),
        "{asked:?}"
    );
}

#[test]
fn the_loopback_needs_no_proxy() {
    let company = Company::new(answering());
    let (proxy, authority) = (format!("http://{}", company.proxy), company.authority());
    company.works(&[("ALL_PROXY", &proxy), ("SSL_CERT_FILE", &authority)]);
    assert_eq!(company.asked.lock().unwrap().len(), 0);
}

#[test]
fn a_server_on_this_machine_without_tls_needs_no_certificates() {
    let provider = Provider::anthropic(answering());
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let mut command = shell.command(&["send", "question.chat"]);
    command
        .env("SSL_CERT_FILE", shell.path("none.pem"))
        .env("SSL_CERT_DIR", shell.path("none"));
    let ran = end(command.spawn().unwrap());
    assert_eq!((ran.code, &*ran.out), (Some(0), "Well.\n"), "{ran:?}");
}
