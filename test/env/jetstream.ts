import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { waitFor } from '#common/wait-for.ts'
import { findProgram } from '#deploy/process/find-program.ts'
import { freePort } from '#deploy/process/free-port.ts'
import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'

const LIMIT_MS = 30_000
const USER = 'notifier'
/** Characters that a URL has escaped. */
const PASSWORD = 'sesame/open@'

/** A NATS with JetStream of a test's own, that asks for a password. It comes back at the same port. */
export class JetStreamServer implements AsyncDisposable {
  readonly url: string
  readonly #directory: string
  readonly #port: number
  #process: ProcessIdentity | undefined

  private constructor(directory: string, port: number) {
    this.#directory = directory
    this.#port = port
    this.url = `nats://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`
  }

  static async start(): Promise<JetStreamServer> {
    const directory = mkdtempSync(join(tmpdir(), 'weir-jetstream-'))
    const server = new JetStreamServer(directory, await freePort())
    await server.start()
    return server
  }

  async start(): Promise<void> {
    const file = join(this.#directory, 'nats.conf')
    writeFileSync(
      file,
      [
        `listen: "127.0.0.1:${this.#port}"`,
        `jetstream { store_dir: ${JSON.stringify(join(this.#directory, 'streams'))} }`,
        `authorization { user: ${USER}, password: ${JSON.stringify(PASSWORD)} }`,
        '',
      ].join('\n'),
    )
    this.#process = await startProcess({
      command: findProgram('nats-server'),
      args: ['-c', file],
      env: { PATH: process.env['PATH'], TZ: 'UTC' },
      directory: this.#directory,
      logFile: join(this.#directory, 'nats.log'),
      lifetime: 'with-parent',
    })
    const answers = () => this.connect().then((nats) => nats.close())
    await waitFor(
      'JetStream to answer',
      () =>
        answers().then(
          () => true,
          () => false,
        ),
      LIMIT_MS,
    )
  }

  async stop(): Promise<void> {
    if (this.#process !== undefined) await stopProcess(this.#process)
    this.#process = undefined
  }

  connect(): Promise<NatsConnection> {
    return connect({ servers: `127.0.0.1:${this.#port}`, user: USER, pass: PASSWORD })
  }

  /** All messages of a stream, the oldest first, as a consumer of its own gets them. */
  async messages<T>(stream: string): Promise<readonly { subject: string; body: T }[]> {
    const nats = await this.connect()
    try {
      const manager = await jetstreamManager(nats)
      const { state } = await manager.streams.info(stream).catch(() => ({ state: { messages: 0 } }))
      if (state.messages === 0) return []
      const consumer = await jetstream(nats).consumers.get(stream)
      const all: { subject: string; body: T }[] = []
      for await (const message of await consumer.fetch({ max_messages: state.messages })) {
        all.push({ subject: message.subject, body: message.json<T>() })
        if (all.length === state.messages) break
      }
      return all
    } finally {
      await nats.close()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
