import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { findProgram } from '#deploy/process/find-program.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'

/** Debian's Prometheus on a loopback port. */
export interface Prometheus extends AsyncDisposable {
  /** The result of an expression now. Throws with the answer for one that it does not take. */
  query(expression: string): Promise<readonly PrometheusSample[]>
  /** Names of the alerts that fire now. */
  firing(): Promise<readonly string[]>
}

export interface PrometheusSample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [at: number, text: string]
}

const READY_LIMIT_MS = 30_000

/** Reads this configuration until it is disposed; its data is then gone. */
export async function startPrometheus(configFile: string): Promise<Prometheus> {
  const directory = mkdtempSync(join(tmpdir(), 'weir-prometheus-'))
  const url = `http://127.0.0.1:${await freePort()}`
  const identity = await startProcess({
    command: findProgram('prometheus'),
    args: [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=${url.slice('http://'.length)}`,
    ],
    env: {},
    directory,
    logFile: join(directory, 'log'),
    lifetime: 'with-parent',
  })
  const api = async <T>(path: string, query: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(query).toString()}`)
    const body = (await answer.json()) as { readonly status: string; readonly data: T }
    if (body.status !== 'success') throw new Error(`${path}: ${JSON.stringify(body)}`)
    return body.data
  }
  const isReady = async () => (await fetch(`${url}/-/ready`)).ok
  await waitFor('Prometheus to be ready', isReady, READY_LIMIT_MS)
  return {
    query: async (query) =>
      (await api<{ readonly result: readonly PrometheusSample[] }>('query', { query })).result,
    firing: async () => {
      const { alerts } = await api<{
        readonly alerts: readonly {
          readonly state: string
          readonly labels: Readonly<Record<string, string>>
        }[]
      }>('alerts')
      return alerts
        .filter(({ state }) => state === 'firing')
        .map(({ labels }) => labels['alertname'] ?? '')
    },
    async [Symbol.asyncDispose]() {
      await stopProcess(identity)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
