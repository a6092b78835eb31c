//! A small HTTP server in this process that keeps every byte it receives.

use anyhow::Result;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Maximum size of a request, bytes.
const LONGEST: usize = 8 << 20;

/// A server on 127.0.0.1.
#[derive(Debug, Clone)]
pub struct Server {
    /// Address on which the server listens.
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// An answer: media type and body. For the type `redirect`, the body is the target URL.
pub type Answer = (&'static str, String);

impl Server {
    /// Starts a server. `answer` maps path and body to the answer; `None` is 404.
    pub async fn start(answer: impl Fn(&str, &[u8]) -> Option<Answer> + Send + Sync + 'static) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let server = Self { address: listener.local_addr()?, received: Arc::default() };
        let (received, answer) = (Arc::clone(&server.received), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (received, answer) = (Arc::clone(&received), Arc::clone(&answer));
                // the server ignores a client that disconnects
                tokio::spawn(async move { drop(serve(stream, &received, &*answer).await) });
            }
        });
        Ok(server)
    }

    /// Every request since the last call, byte for byte.
    pub fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.received.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn serve(
    mut stream: TcpStream,
    received: &Mutex<Vec<Vec<u8>>>,
    answer: &(dyn Fn(&str, &[u8]) -> Option<Answer> + Send + Sync),
) -> Result<()> {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        let mut chunk = [0; 16_384];
        let count = stream.read(&mut chunk).await?;
        if count == 0 || bytes.len() > LONGEST {
            return Ok(());
        }
        bytes.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
        let length =
            head.lines().find_map(|l| l.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        let all = end + 4 + length.unwrap_or(0_usize);
        if bytes.len() >= all {
            break (head, bytes.get(end + 4..all).unwrap_or_default().to_vec());
        }
    };
    received.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    let path = head.split_whitespace().nth(1).unwrap_or_default();
    let reply = match answer(path, &body) {
        Some(("redirect", to)) => {
            format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        }
        Some((kind, text)) => format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
            text.len()
        ),
        None => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
    };
    stream.write_all(reply.as_bytes()).await?;
    Ok(stream.shutdown().await?)
}
