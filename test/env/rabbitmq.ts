import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { programsDirectory } from '#deploy/paths.ts'
import { freePort } from '#deploy/process/free-port.ts'
import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'

const LIMIT_MS = 120_000
const HOST = '127.0.0.1'
const ERLANG = join(programsDirectory, 'usr/lib/erlang')
const RABBITMQ = join(programsDirectory, 'usr/lib/rabbitmq/lib')

/** Debian's RabbitMQ, unpacked, on loopback. */
export class RabbitMq implements AsyncDisposable {
  readonly url: string
  readonly #stop: () => Promise<void>

  private constructor(port: number, stop: () => Promise<void>) {
    this.url = `amqp://guest:guest@${HOST}:${port}`
    this.#stop = stop
  }

  static async start(): Promise<RabbitMq> {
    const directory = mkdtempSync(join(tmpdir(), 'weir-rabbitmq-'))
    const binaries = join(ERLANG, only(ERLANG, 'erts-'), 'bin')
    const [port, names, peers] = [await freePort(), await freePort(), await freePort()]
    const env = { ...environment(directory, { port, peers }), ERL_EPMD_PORT: String(names) }
    writeFileSync(join(directory, 'erl'), erl(binaries))
    chmodSync(join(directory, 'erl'), 0o755)
    const run = (name: string, command: string, args: readonly string[]) =>
      startProcess({
        command,
        args,
        env,
        directory,
        logFile: join(directory, `${name}.log`),
        lifetime: 'with-parent',
      })
    const started: ProcessIdentity[] = []
    const stop = async () => {
      for (const each of started.toReversed()) await stopProcess(each)
      rmSync(directory, { recursive: true, force: true })
    }
    started.push(await run('epmd', join(binaries, 'epmd'), ['-address', HOST]))
    await untilOpen(names)
    const server = join(RABBITMQ, only(RABBITMQ, 'rabbitmq_server-'), 'sbin/rabbitmq-server')
    started.push(await run('server', '/bin/sh', [server]))
    await untilOpen(port)
    return new RabbitMq(port, stop)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
  }
}

function environment(directory: string, { port, peers }: Record<'port' | 'peers', number>) {
  return {
    HOME: directory,
    PATH: `${directory}:${process.env['PATH']}`,
    RABBITMQ_NODENAME: 'weir@localhost',
    RABBITMQ_NODE_IP_ADDRESS: HOST,
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(peers),
    RABBITMQ_MNESIA_BASE: join(directory, 'data'),
    RABBITMQ_LOG_BASE: join(directory, 'log'),
    RABBITMQ_CONFIG_FILE: join(directory, 'rabbitmq'),
    RABBITMQ_CONF_ENV_FILE: join(directory, 'environment'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'plugins'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    ERL_EPMD_ADDRESS: HOST,
  }
}

/** The package's own has the place where it would be installed. */
function erl(binaries: string): string {
  return [
    '#!/bin/sh',
    `export ROOTDIR='${ERLANG}' BINDIR='${binaries}' EMU=beam PROGNAME=erl`,
    'exec "$BINDIR/erlexec" "$@"',
    '',
  ].join('\n')
}

function only(directory: string, prefix: string): string {
  const [found] = readdirSync(directory).filter((name) => name.startsWith(prefix))
  if (found === undefined) throw new Error(`${directory} has no ${prefix}…: run ./weir test --all`)
  return found
}

async function untilOpen(port: number): Promise<void> {
  const answers = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, HOST)
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
  await waitFor(`something to listen at port ${port}`, answers, LIMIT_MS)
}
