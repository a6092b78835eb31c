//! Serving until told to stop.

use super::{Service, api};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Longest time in which the head of a request must have come.
const HEAD: Duration = Duration::from_secs(10);
/// Connections at a time; more wait to be accepted.
const CONNECTIONS: usize = 2_048;
/// How long what is under way may take to end.
const ENDING: Duration = Duration::from_secs(10);

/// Serves until `stop` is ready, then takes on nothing more and lets what is under way end.
pub async fn run(service: Service, listener: TcpListener, stop: impl Future<Output = ()>) {
    answer(api::router(&service), listener, stop).await;
}

/// The same for any router.
pub(crate) async fn answer(router: axum::Router, listener: TcpListener, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_headers(64).max_buf_size(64 * 1024);
    let mut stop = std::pin::pin!(stop);
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            () = &mut stop => break,
        };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // too many open files, or a client that is gone already: the next may do
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        let _ = stream.set_nodelay(true);
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // what a client does wrong is its own affair
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(ENDING, graceful.shutdown()).await;
}
