//! Sizes and types of images.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use synopsis::{Call, commands};
use tcl::{Exit, Obj};

commands! { TABLE(call):

    /// Width and height of a GIF, PNG or JPEG file; 0 0 of others.
    "ns_imgsize" (filename: String)
        => size(call, &filename);

    /// gif, png, jpeg or unknown.
    "ns_imgtype" (filename: String)
        => Ok::<_, Exit>(kind(&mut open(call, &filename)?).name());

    /// The media type of an image.
    "ns_imgmime" (filename: String)
        => Ok::<_, Exit>(format!("image/{}", kind(&mut open(call, &filename)?).name()));

    /// Width and height of a GIF file.
    "ns_gifsize" (filename: String)
        => sized(call, &filename, "GIF", gif);

    /// Width and height of a PNG file.
    "ns_pngsize" (filename: String)
        => sized(call, &filename, "PNG", png);

    /// Width and height of a JPEG file.
    "ns_jpegsize" (filename: String)
        => sized(call, &filename, "JPEG", jpeg);
}

#[derive(Clone, Copy)]
enum Kind {
    Gif,
    Png,
    Jpeg,
    Unknown,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Gif => "gif",
            Kind::Png => "png",
            Kind::Jpeg => "jpeg",
            Kind::Unknown => "unknown",
        }
    }
}

type Size = (u32, u32);

/// Opening fails with the words and the error code of Tcl's `open`.
fn open(call: &Call<'_>, name: &str) -> Result<File, Exit> {
    File::open(name).or_else(|_| {
        let channel = call.interp.call(&[Obj::from("::open"), Obj::from(name)])?;
        call.interp.call(&[Obj::from("::close"), channel])?;
        // Gone and back again in between.
        File::open(name).map_err(|e| tcl::error(e.to_string()))
    })
}

fn kind(file: &mut File) -> Kind {
    let mut head = [0; 8];
    let length = file.read(&mut head).unwrap_or(0);
    match &head[..length] {
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Kind::Gif,
        b"\x89PNG\r\n\x1a\n" => Kind::Png,
        [0xff, 0xd8, 0xff, ..] => Kind::Jpeg,
        _ => Kind::Unknown,
    }
}

fn size(call: &Call<'_>, name: &str) -> Result<Obj, Exit> {
    let mut file = open(call, name)?;
    let found = match kind(&mut file) {
        Kind::Gif => gif(&mut file),
        Kind::Png => png(&mut file),
        Kind::Jpeg => jpeg(&mut file),
        Kind::Unknown => Ok(None),
    };
    Ok(pair(found.ok().flatten().unwrap_or((0, 0))))
}

fn sized(
    call: &Call<'_>,
    name: &str,
    kind: &str,
    measure: fn(&mut File) -> io::Result<Option<Size>>,
) -> Result<Obj, Exit> {
    match measure(&mut open(call, name)?) {
        Ok(Some(size)) => Ok(pair(size)),
        _ => Err(tcl::error(format!("invalid {kind} file \"{name}\""))),
    }
}

fn pair((width, height): Size) -> Obj {
    Obj::list([i64::from(width), i64::from(height)].map(Obj::from))
}

fn gif(file: &mut File) -> io::Result<Option<Size>> {
    file.rewind()?;
    let mut head = [0; 13];
    file.read_exact(&mut head)?;
    let number = |at: usize| u32::from(u16::from_le_bytes([head[at], head[at + 1]]));
    Ok(
        (head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a"))
            .then(|| (number(6), number(8))),
    )
}

fn png(file: &mut File) -> io::Result<Option<Size>> {
    file.rewind()?;
    let mut head = [0; 24];
    file.read_exact(&mut head)?;
    let number =
        |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let valid = head.starts_with(b"\x89PNG\r\n\x1a\n") && &head[12..16] == b"IHDR";
    Ok(valid.then(|| (number(16), number(20))))
}

/// The size stands in the first start-of-frame marker (ITU T.81, annex B).
fn jpeg(file: &mut File) -> io::Result<Option<Size>> {
    file.rewind()?;
    let mut file = io::BufReader::new(file);
    let mut start = [0; 2];
    file.read_exact(&mut start)?;
    if start != [0xff, 0xd8] {
        return Ok(None);
    }
    loop {
        let mut marker = [0; 2];
        file.read_exact(&mut marker)?;
        if marker[0] != 0xff {
            return Ok(None);
        }
        while marker[1] == 0xff {
            file.read_exact(&mut marker[1..])?;
        }
        match marker[1] {
            // Without content.
            0x01 | 0xd0..=0xd7 => continue,
            // Image data or the end, and no frame before it.
            0xd9 | 0xda => return Ok(None),
            _ => {}
        }
        let mut length = [0; 2];
        file.read_exact(&mut length)?;
        if matches!(marker[1], 0xc0..=0xcf) && !matches!(marker[1], 0xc4 | 0xc8 | 0xcc) {
            let mut frame = [0; 5];
            file.read_exact(&mut frame)?;
            let number = |at: usize| u32::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
            return Ok(Some((number(3), number(1))));
        }
        match u16::from_be_bytes(length).checked_sub(2) {
            Some(rest) => file.seek(SeekFrom::Current(i64::from(rest)))?,
            None => return Ok(None),
        };
    }
}
