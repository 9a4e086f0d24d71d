import { readFileSync, statSync } from 'node:fs'
import { systemClock } from '#common/clock.ts'
import { type ErrorKind, Failure } from '#common/errors.ts'
import type { InstanceId, VolumeId } from '#common/ids.ts'
import { POWER_STATES, type PowerState } from '#common/states/instance-states.ts'
import { abortable } from '../abortable.ts'

/** The driver's methods that a fault can strike. */
const FAULTY_METHODS = [
  'inventory',
  'spawn',
  'destroy',
  'list',
  'start',
  'stop',
  'reboot',
  'pause',
  'unpause',
  'suspend',
  'resume',
  'rescue',
  'unrescue',
  'setPassword',
  'crashDump',
  'diagnostics',
  'topology',
  'uptime',
  'metrics',
  'attachNic',
  'detachNic',
  'consoleLog',
  'console',
  'snapshot',
  'beginChanges',
  'takeChanges',
  'forgetChanges',
  'rebuild',
  'resize',
  'confirmResize',
  'revertResize',
  'pack',
  'unpack',
  'readFile',
  'writeFile',
  'arrive',
  'announce',
  'expect',
  'send',
  'finish',
  'unmanagedGuests',
  'imageCopies',
  'fetchImage',
  'machineNics',
  'adopt',
  'stores',
  'createVolume',
  'destroyVolume',
  'listVolumes',
  'extendVolume',
  'snapshotVolume',
  'exportVolume',
  'revertVolume',
  'reimageVolume',
  'destroyVolumeSnapshot',
  'packVolume',
  'readVolumeCopy',
  'writeVolumeCopy',
  'dropVolumeCopy',
  'attachVolume',
  'detachVolume',
  'copyToVolume',
  'pivotVolume',
  'cancelVolumeSwap',
] as const
export type FaultyMethod = (typeof FAULTY_METHODS)[number]

/** One thing that goes wrong. What matches is tried in order; the first fault that is due strikes. */
export interface Fault {
  /** `any` strikes every method. */
  readonly method: FaultyMethod | 'any'
  /** Strikes only this instance, by id or display name, or this volume, by id. Methods about neither never match. */
  readonly instance?: string
  /** Matching calls that pass before the first strike. */
  readonly after?: number
  /** Strikes before the fault is spent; absent: for ever. */
  readonly times?: number
  readonly effect: FaultEffect
}

export type FaultEffect =
  /** The call fails. A failed spawn leaves nothing unless the kind is `unavailable`: then the guest does run. */
  | {
      readonly do: 'fail'
      readonly kind: ErrorKind
      readonly message?: string
      /** For operators alone. */
      readonly detail?: string
    }
  /** The call waits until the fault is removed or the caller gives up, and then continues. */
  | { readonly do: 'hang' }
  | { readonly do: 'slow'; readonly ms: number }
  /** `list` reports this power state instead of the true one. */
  | { readonly do: 'lie'; readonly powerState: PowerState }
  /** From then on every call of every method throws `unavailable`. */
  | { readonly do: 'die' }

/** The instance or volume that a call is about, which a fault may match. */
export interface FaultTarget {
  readonly id: InstanceId | VolumeId
  readonly displayName: string
}

interface Armed {
  readonly fault: Fault
  passed: number
  struck: number
  readonly lifted: AbortController
}

/** The faults of one fake host, which may be changed while it runs. Counts start again with every `set`. */
export class Faults {
  #armed: readonly Armed[] = []
  #dead = false

  constructor(faults: readonly Fault[] = []) {
    this.set(faults)
  }

  /** Replaces all faults: hanging calls go on, and a dead host lives again. */
  set(faults: readonly Fault[]): void {
    const before = this.#armed
    this.#dead = false
    this.#armed = faults.map((fault) => ({
      fault,
      passed: 0,
      struck: 0,
      lifted: new AbortController(),
    }))
    for (const { lifted } of before) lifted.abort()
  }

  /** How many calls the faults have met since they were set. */
  get struck(): number {
    return this.#armed.reduce((sum, { struck }) => sum + struck, 0)
  }

  /** Counts the call and does to it what the script says. Returns a failure that is to be thrown at its end. */
  async strike(
    method: FaultyMethod,
    target: FaultTarget | undefined,
    signal: AbortSignal,
  ): Promise<Failure | undefined> {
    signal.throwIfAborted()
    if (this.#dead) throw dead()
    const armed = this.#armed.find((candidate) => this.#isDue(candidate, method, target))
    if (armed === undefined) return undefined
    armed.struck += 1
    const { effect } = armed.fault
    switch (effect.do) {
      case 'fail':
        return new Failure(effect.kind, effect.message ?? 'The fake host was told to fail.', {
          ...(effect.detail !== undefined && { detail: effect.detail }),
        })
      case 'hang':
        await untilLifted(armed.lifted.signal, signal)
        return undefined
      case 'slow':
        await systemClock.sleep(effect.ms, signal)
        return undefined
      case 'die':
        this.#dead = true
        throw dead()
      case 'lie':
        return undefined
    }
  }

  /** What `list` is to say about an instance: the truth unless a fault lies. */
  reported(target: FaultTarget, truth: PowerState): PowerState {
    const lie = this.#armed.find(
      ({ fault }) => fault.effect.do === 'lie' && matchesInstance(fault, target),
    )
    return lie?.fault.effect.do === 'lie' ? lie.fault.effect.powerState : truth
  }

  #isDue(armed: Armed, method: FaultyMethod, target: FaultTarget | undefined): boolean {
    const { fault } = armed
    if (fault.effect.do === 'lie') return false
    if (fault.method !== 'any' && fault.method !== method) return false
    if (!matchesInstance(fault, target) || armed.struck >= (fault.times ?? Infinity)) return false
    if (armed.passed >= (fault.after ?? 0)) return true
    armed.passed += 1
    return false
  }
}

/** Reads a script of faults from JSON; throws an error that names the entry and its problem. */
export function parseFaults(json: string): readonly Fault[] {
  const faults: unknown = JSON.parse(json)
  if (!Array.isArray(faults)) throw new Error('faults: not a list')
  for (const [index, fault] of (faults as Partial<Fault>[]).entries()) {
    const problem = problemOf(fault)
    if (problem !== undefined) throw new Error(`faults[${index}]: ${problem}`)
  }
  return faults as Fault[]
}

function problemOf(fault: Partial<Fault>): string | undefined {
  const methods: readonly string[] = ['any', ...FAULTY_METHODS]
  if (!methods.includes(fault.method ?? '')) return `method is none of ${methods.join(', ')}`
  switch (fault.effect?.do) {
    case 'fail':
      return typeof fault.effect.kind === 'string' ? undefined : 'effect.kind is missing'
    case 'slow':
      return fault.effect.ms >= 0 ? undefined : 'effect.ms is not a time'
    case 'lie':
      return fault.effect.powerState in POWER_STATES ? undefined : 'effect.powerState is unknown'
    case 'hang':
    case 'die':
      return undefined
    case undefined:
      return 'effect.do is missing'
    default:
      return 'effect.do is unknown'
  }
}

function matchesInstance({ instance }: Fault, target: FaultTarget | undefined): boolean {
  if (instance === undefined) return true
  return target !== undefined && [target.id, target.displayName].includes(instance)
}

async function untilLifted(lifted: AbortSignal, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (lifted.aborted) return
  lifted.addEventListener('abort', () => resolve(), { once: true })
  await abortable(promise, signal)
}

function dead(): Failure {
  return new Failure('unavailable', 'The fake host is dead.')
}

/** A script of faults that another process may rewrite at any time. */
export class FaultsFile {
  readonly #path: string
  #seen = ''

  constructor(path: string) {
    this.#path = path
  }

  /** Afterwards `faults` has the content of the file, if it changed since the last look; a missing file means no faults. */
  refresh(faults: Faults): void {
    const now = statSync(this.#path, { throwIfNoEntry: false })
    const version = now === undefined ? '' : `${now.ino} ${now.mtimeMs} ${now.size}`
    if (version === this.#seen) return
    this.#seen = version
    faults.set(now === undefined ? [] : parseFaults(readFileSync(this.#path, 'utf8')))
  }
}
