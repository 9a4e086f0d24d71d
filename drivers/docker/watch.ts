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
  /** When it happened, in nanoseconds since 1970 by the engine's clock. */
  readonly timeNano: number
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
const NANO_DIGITS = 9

/** Calls `listener` on every change of power state of this owner's guests, in the order they happened. */
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

/**
 * Follows the events until stopped. Events between two connections are reported with the second. Earlier events, and
 * all of them where the engine has a clock of its own, are found by the next `list`.
 */
async function follow(
  host: DockerHost,
  listener: (report: InstanceReport) => void,
  signal: AbortSignal,
): Promise<void> {
  const report = (event: EngineEvent) => {
    const report = reportOf(event)
    if (report !== undefined && !signal.aborted) listener(report)
  }
  let since = host.engine.isLocal ? String(Date.now() / 1_000) : undefined
  while (!signal.aborted) {
    try {
      for await (const event of events(host, since, signal)) {
        since = instantOf(event)
        report(event)
      }
    } catch (error) {
      if (!signal.aborted) host.logger?.warn(errorFields(error), 'events of the engine broke off')
    }
    await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function* events(
  host: DockerHost,
  since: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent> {
  const query = { filters: ownFilter(host.owner), ...(since !== undefined && { since }) }
  const stream = await host.engine.open('GET', '/events', { query, signal })
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split(NEWLINE)
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield JSON.parse(line) as EngineEvent
  }
}

/** The time of an event, for the engine's `since`, which is inclusive: the engine repeats the last event. */
function instantOf({ timeNano }: EngineEvent): string {
  const digits = String(BigInt(timeNano)).padStart(NANO_DIGITS + 1, '0')
  return `${digits.slice(0, -NANO_DIGITS)}.${digits.slice(-NANO_DIGITS)}`
}

function reportOf({ Type, Action, Actor }: EngineEvent): InstanceReport | undefined {
  const powerState = Type === 'container' ? STATE_AFTER[Action] : undefined
  const id = instanceOfContainer(Actor.Attributes['name'] ?? '')
  return powerState === undefined || id === undefined ? undefined : { id, powerState }
}
