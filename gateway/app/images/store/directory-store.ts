import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { HEAD_BYTES, type Sample, TAIL_BYTES } from '../formats/format.ts'
import {
  type ContentStore,
  type Incoming,
  isDigest,
  type Part,
  type StoredContent,
} from './content-store.ts'

const READ_CHUNK_BYTES = 256 * 1024

/**
 * Contents as files in one directory that every gateway shares. A file is complete as soon as it has its name.
 */
export class DirectoryStore implements ContentStore {
  readonly #contents: string
  readonly #incoming: string

  private constructor(directory: string) {
    this.#contents = join(directory, 'contents')
    this.#incoming = join(directory, 'incoming')
  }

  /** Makes the directory when it is missing. */
  static async open(directory: string): Promise<DirectoryStore> {
    const store = new DirectoryStore(directory)
    await mkdir(store.#contents, { recursive: true, mode: 0o700 })
    await mkdir(store.#incoming, { recursive: true, mode: 0o700 })
    return store
  }

  async receive(): Promise<Incoming> {
    const path = join(this.#incoming, randomUUID())
    const file = await orFull(open(path, 'wx', 0o600))
    return new IncomingFile(file, path, (sha256) => this.#pathOf(sha256))
  }

  async read(sha256: string, part?: Part): Promise<StoredContent> {
    const { file, sizeBytes } = await this.#open(sha256)
    const range = part === undefined ? {} : { start: part.first, end: part.last }
    const options = { fd: file, highWaterMark: READ_CHUNK_BYTES, ...range }
    return { sizeBytes, stream: webStream(createReadStream(this.#pathOf(sha256), options)) }
  }

  async sample(sha256: string): Promise<Sample> {
    const { file, sizeBytes } = await this.#open(sha256)
    try {
      const head = await readAt(file, 0, Math.min(HEAD_BYTES, sizeBytes))
      const tailBytes = Math.min(TAIL_BYTES, sizeBytes)
      const tail = await readAt(file, sizeBytes - tailBytes, tailBytes)
      return { head, tail, sizeBytes }
    } finally {
      await file.close()
    }
  }

  async #open(sha256: string): Promise<{ readonly file: FileHandle; readonly sizeBytes: number }> {
    try {
      const file = await open(this.#pathOf(sha256), 'r')
      return { file, sizeBytes: (await file.stat()).size }
    } catch (error) {
      throw new Failure('unavailable', 'The image content cannot be read right now.', {
        cause: error,
      })
    }
  }

  async remove(sha256: string): Promise<void> {
    await rm(this.#pathOf(sha256), { force: true })
  }

  async *stored(olderThan: Date): AsyncGenerator<string> {
    for await (const entry of await opendir(this.#contents)) {
      if (isDigest(entry.name) && (await isOlder(this.#pathOf(entry.name), olderThan)))
        yield entry.name
    }
  }

  async removeAbandoned(olderThan: Date): Promise<number> {
    let removed = 0
    for await (const entry of await opendir(this.#incoming)) {
      const path = join(this.#incoming, entry.name)
      if (!(await isOlder(path, olderThan))) continue
      await rm(path, { force: true })
      removed += 1
    }
    return removed
  }

  /** Only gateways can read the directory. */
  async directUrl(): Promise<undefined> {}

  async [Symbol.asyncDispose](): Promise<void> {}

  #pathOf(sha256: string): string {
    if (!isDigest(sha256)) throw new Error('Not a SHA-256 digest')
    return join(this.#contents, sha256)
  }
}

export class IncomingFile implements Incoming {
  readonly #file: FileHandle
  readonly #path: string
  readonly #pathOf: (sha256: string) => string
  #isOpen = true

  constructor(file: FileHandle, path: string, pathOf: (sha256: string) => string) {
    this.#file = file
    this.#path = path
    this.#pathOf = pathOf
  }

  async write(chunk: Uint8Array): Promise<void> {
    await orFull(this.#file.writeFile(chunk))
  }

  async flush(): Promise<void> {
    await orFull(this.#file.sync())
    await this.#close()
  }

  async keep(sha256: string): Promise<void> {
    const path = this.#pathOf(sha256)
    try {
      await rename(this.#path, path)
    } catch (error) {
      // A transaction run again after a deadlock has renamed it before.
      if (!(await exists(path)) || (await exists(this.#path))) throw error
    }
    await syncDirectory(join(path, '..'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
    await rm(this.#path, { force: true })
  }

  async #close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    await this.#file.close()
  }
}

async function orFull<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error
    throw new Failure('unavailable', 'The image store has no room left: its disk is full.', {
      cause: error,
    })
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

/** A rename is durable once its directory is. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

async function isOlder(path: string, than: Date): Promise<boolean> {
  return stat(path).then(
    (found) => found.mtimeMs < than.getTime(),
    () => false,
  )
}

function webStream(stream: ReturnType<typeof createReadStream>): ReadableStream<Uint8Array> {
  const iterator = stream[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await iterator.next()
        if (next.done === true) controller.close()
        else controller.enqueue(next.value as Uint8Array)
      },
      async cancel() {
        stream.destroy()
      },
    },
    { highWaterMark: 0 },
  )
}
