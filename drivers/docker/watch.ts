import { setTimeout as sleep } from 'node:timers/promises'
import { errorFields } from '#common/log.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { InstanceReport } from '../driver.ts'
import type { DockerHost } from './host.ts'
import { instanceOfContainer, ownFilter } from './names.ts'

/** Of an event of `GET /events`, what the driver reads. */
interface EngineEvent {
  readonly Type: string
  readonly Action: string
  readonly Actor: { readonly Attributes: Readonly<Record<string, string>> }
}

const STATE_AFTER: Readonly<Record<string, PowerState>> = {
  start: 'running',
  unpause: 'running',
  pause: 'paused',
  die: 'shutdown',
}

const RECONNECT_MS = 500
const NEWLINE = '\n'

/** Tells `listener` of every change of power state of this owner's guests, in the order they happened. */
export function watch(
  host: DockerHost,
  listener: (report: InstanceReport) => void,
): AsyncDisposable {
  const stop = new AbortController()
  const following = follow(host, listener, stop.signal)
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await following
    },
  }
}

/** Until stopped. What happens between two connections is found by the next `list`. */
async function follow(
  host: DockerHost,
  listener: (report: InstanceReport) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const report of reports(host, signal)) listener(report)
    } catch (error) {
      if (!signal.aborted) host.logger?.warn(errorFields(error), 'events of the engine broke off')
    }
    await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function* reports(host: DockerHost, signal: AbortSignal): AsyncGenerator<InstanceReport> {
  for await (const event of events(host, signal)) {
    const report = reportOf(event)
    if (report !== undefined && !signal.aborted) yield report
  }
}

async function* events(host: DockerHost, signal: AbortSignal): AsyncGenerator<EngineEvent> {
  const query = { filters: ownFilter(host.owner) }
  const stream = await host.engine.open('GET', '/events', { query, signal })
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split(NEWLINE)
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield JSON.parse(line) as EngineEvent
  }
}

function reportOf({ Type, Action, Actor }: EngineEvent): InstanceReport | undefined {
  const powerState = Type === 'container' ? STATE_AFTER[Action] : undefined
  const id = instanceOfContainer(Actor.Attributes['name'] ?? '')
  return powerState === undefined || id === undefined ? undefined : { id, powerState }
}
