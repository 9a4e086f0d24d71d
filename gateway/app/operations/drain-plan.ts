import type { VmState } from '#common/states/instance-states.ts'

/** How a server leaves its host: while it runs, stopped, for another cell, shelved so that it needs none, or built again without it. */
export type MoveMethod = 'live' | 'cold' | 'cell' | 'offload' | 'evacuate'

/** What an operation has done about one server. */
export interface DrainMove<Method extends string = MoveMethod> {
  readonly serverId: string
  /** `moving`: since the commit by which its server's cell is asked. `gone`: its server was deleted, or moved by others. */
  readonly state: 'waiting' | 'moving' | 'moved' | 'gone'
  /** Of the last try; null: none was possible yet. */
  readonly method: Method | null
  readonly tries: number
  /** Why it waits; null otherwise. */
  readonly reason: string | null
  /** Of the last try, by which its action is found. */
  readonly requestId: string | null
  /** No try begins earlier. */
  readonly notBefore: Date | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
}

/** A server that is, or was, on the host. */
export interface DrainedServer {
  readonly id: string
  readonly vmState: VmState
  readonly hostId: string | null
  /** A request, a saga or its cell is changing it. */
  readonly isBusy: boolean
  /** It stays on its host, which has failed; absent: it leaves it. */
  readonly stays?: Stay
  /** It is moved to another cell where no other host of its cell takes it; absent: as the drain says. */
  readonly mayLeaveCell?: true
}

/** What becomes of a server that stays: it starts with its host again, or is stopped. */
export interface Stay {
  readonly how: 'restart' | 'none'
  /** The name of the placement policy that says so. */
  readonly policy: string
}

export interface DrainSettings {
  readonly hostId: string
  /** The most servers that move at a time. */
  readonly parallel: number
  /** No server is stopped to move it. */
  readonly liveOnly: boolean
  /** Servers that no other host of their cell takes are moved to other cells. */
  readonly toOtherCells: boolean
  /** The host answers. */
  readonly isUp: boolean
  /** Another host of its cell may take servers: it answers, and is neither cordoned nor drained. */
  readonly othersServe: boolean
  /** An operator has said that no guest of the host runs while it is down. */
  readonly evacuates: boolean
  /** False: moves that have begun are brought to their end, and no other begins. */
  readonly mayBegin: boolean
  /** Of the host, by their names in the wire. */
  readonly capabilities: ReadonlySet<string>
}

/** What is to be done next. */
export interface DrainPlan {
  readonly begin: readonly { readonly serverId: string; readonly method: MoveMethod }[]
  /** Servers that have moved and wait for the word that lets go of the former host. */
  readonly confirm: readonly string[]
  /** Moves that have ended without success: their servers are where they were. */
  readonly failed: readonly DrainMove[]
  /** Moves that have succeeded, or whose servers have left the host otherwise. */
  readonly ended: readonly DrainMove[]
  /** Servers that are to be stopped, so that they are not started with their host. */
  readonly stop: readonly string[]
  /** Servers that no method moves now, and why. */
  readonly stuck: readonly { readonly serverId: string; readonly reason: string }[]
}

const FIRST_PAUSE_MS = 15_000
const DOUBLINGS_MAX = 5

/** Decides what a drain does next. `servers`: those on the host, and those that it has begun to move. */
export function planDrain(
  settings: DrainSettings,
  servers: readonly DrainedServer[],
  moves: readonly DrainMove[],
  now: Date,
): DrainPlan {
  const byId = new Map(servers.map((server) => [server.id, server]))
  const begun = moves.filter(({ state }) => state === 'moving')
  const seen = begun.map((move) => ({
    move,
    is: progressOf(settings, move, byId.get(move.serverId)),
  }))
  const of = (wanted: Progress) => seen.flatMap(({ move, is }) => (is === wanted ? [move] : []))
  const known = new Map(moves.map((move) => [move.serverId, move]))
  const waiting = servers.filter(({ id, hostId }) => {
    return hostId === settings.hostId && known.get(id)?.state !== 'moving'
  })
  const possible = waiting.map((server) => ({ server, ...methodsFor(server, settings) }))
  const ready = possible.filter(({ server, methods }) => {
    const notBefore = known.get(server.id)?.notBefore ?? null
    return methods.length > 0 && (notBefore === null || notBefore <= now)
  })
  const methodsOf = new Map(ready.map(({ server, methods }) => [server.id, methods]))
  const due = inTurn(
    ready.map(({ server }) => server),
    known,
  )
  const slots = Math.max(settings.parallel - of('moving').length - of('arrived').length, 0)
  return {
    begin: (settings.mayBegin ? due.slice(0, slots) : []).map(({ id: serverId }) => {
      const methods = methodsOf.get(serverId)!
      const tries = known.get(serverId)?.tries ?? 0
      return { serverId, method: methods[tries % methods.length]! }
    }),
    confirm: of('arrived').map(({ serverId }) => serverId),
    failed: of('failed'),
    ended: [
      ...seen.flatMap(({ move, is }) =>
        is === 'moved' || is === 'gone' ? [{ ...move, state: is, endedAt: now }] : [],
      ),
      ...moves.flatMap((move): DrainMove[] =>
        move.state === 'waiting' && !byId.has(move.serverId)
          ? [{ ...move, state: 'gone', reason: null, endedAt: now }]
          : [],
      ),
    ],
    stop: waiting.filter((server) => isToStop(server, settings)).map(({ id }) => id),
    stuck: possible.flatMap(({ server, methods, reason }) =>
      methods.length === 0 ? [{ serverId: server.id, reason }] : [],
    ),
  }
}

/**
 * In the order of their turns: those not tried yet, and then those that have waited longest since their pauses ended. Else
 * the ones that are tried again and again would keep others waiting for ever.
 */
export function inTurn<Server extends { readonly id: string }>(
  servers: readonly Server[],
  moves: ReadonlyMap<string, Pick<DrainMove<string>, 'notBefore'>>,
): readonly Server[] {
  const turn = ({ id }: Server) => moves.get(id)?.notBefore?.getTime() ?? 0
  return servers.toSorted((a, b) => turn(a) - turn(b))
}

type Progress = 'moving' | 'arrived' | 'moved' | 'gone' | 'failed'

function progressOf(
  { hostId }: DrainSettings,
  { method }: DrainMove,
  server: DrainedServer | undefined,
): Progress {
  if (server === undefined) return 'gone'
  if (server.isBusy) return 'moving'
  if (server.hostId === hostId) return 'failed'
  return method === 'cold' && server.vmState === 'resized' ? 'arrived' : 'moved'
}

/** Only one that ran would be started with its host. */
function isToStop({ stays, vmState, isBusy }: DrainedServer, { isUp }: DrainSettings): boolean {
  return stays?.how === 'none' && vmState === 'active' && !isBusy && !isUp
}

interface Methods {
  /** In the order in which they are tried. */
  readonly methods: readonly MoveMethod[]
  /** Why there are none. */
  readonly reason: string
}

function methodsFor(server: DrainedServer, settings: DrainSettings): Methods {
  const { vmState, isBusy, stays } = server
  const { capabilities, liveOnly, isUp, evacuates } = settings
  if (stays !== undefined) return { methods: [], reason: reasonOfStay(stays) }
  if (isBusy) return { methods: [], reason: 'Another request is changing it.' }
  if (!isUp) return evacuates ? evacuationOf(vmState) : { methods: [], reason: DOWN }
  const { live, cold, cell } = possibleMethods(settings, server)
  const why = (isAble: boolean, unable: string) => (isAble ? NO_OTHER_HOST : unable)
  const movesLive = capabilities.has('liveMove')
  const movesCold = capabilities.has('move')
  switch (vmState) {
    case 'active':
      return liveOnly
        ? {
            methods: live,
            reason: why(movesLive, `${MOVES_NO_RUNNING}, and the drain stops none.`),
          }
        : {
            methods: [...live, ...cold, ...cell],
            reason: why(movesLive || movesCold, MOVES_NONE),
          }
    case 'paused':
      return { methods: live, reason: why(movesLive, `${MOVES_NO_RUNNING}.`) }
    case 'stopped':
      return { methods: [...cold, ...cell], reason: why(movesCold, MOVES_NONE) }
    case 'shelved':
      return { methods: ['offload'], reason: '' }
    case 'resized':
      return { methods: [], reason: 'Its resize has to be confirmed or reverted first.' }
    case 'building':
    case 'deleted':
    case 'error':
    case 'rescued':
    case 'shelved_offloaded':
    case 'soft-delete':
    case 'suspended':
      return { methods: [], reason: `A server that is ${vmState} is not moved.` }
  }
}

type Possible = Readonly<Record<'live' | 'cold' | 'cell', readonly MoveMethod[]>>

/** The ways off a host that answers. None leads to another host of the cell while none serves: the cell could only refuse. */
function possibleMethods(
  { capabilities, toOtherCells, othersServe }: DrainSettings,
  { mayLeaveCell }: Pick<DrainedServer, 'mayLeaveCell'>,
): Possible {
  return {
    live: othersServe && capabilities.has('liveMove') ? ['live'] : [],
    cold: othersServe && capabilities.has('move') ? ['cold'] : [],
    cell: (toOtherCells || mayLeaveCell) && capabilities.has('snapshot') ? ['cell'] : [],
  }
}

const MOVES_NO_RUNNING = 'The driver of its host does not move guests that run'
const MOVES_NONE = 'The driver of its host moves no guests.'
/** As the cell would refuse the move, and why it would. */
const NO_OTHER_HOST =
  'No valid host was found. There are not enough hosts available. Every other host of its cell is cordoned, or does not answer.'

/** Why a server stays on a host that has failed, in a sentence for operators. */
export function reasonOfStay({ how, policy }: Stay): string {
  const what =
    how === 'restart'
      ? 'It is started again with its host'
      : 'It stays on its host, and is not started with it'
  return `${what}, as placement policy ${policy} says.`
}

const DOWN =
  'Its host does not answer. Bring the host back, or evacuate it once none of its guests runs.'

function evacuationOf(vmState: VmState): Methods {
  const isPossible = vmState === 'active' || vmState === 'stopped' || vmState === 'error'
  return {
    methods: isPossible ? ['evacuate'] : [],
    reason: `A server that is ${vmState} is not evacuated.`,
  }
}

/** The move once a try has failed: it is tried again, by the next method at once, and after longer and longer pauses. */
export function afterFailure<Method extends string>(
  move: DrainMove<Method>,
  reason: string,
  methods: number,
  now: Date,
): DrainMove<Method> {
  const rounds = Math.floor(move.tries / Math.max(methods, 1))
  const isRound = move.tries % Math.max(methods, 1) === 0
  const pauseMs = isRound ? FIRST_PAUSE_MS * 2 ** Math.min(rounds - 1, DOUBLINGS_MAX) : 0
  return {
    ...move,
    state: 'waiting',
    reason,
    notBefore: new Date(now.getTime() + pauseMs),
    endedAt: now,
  }
}

/** How many ways the host has to move the server while it runs. */
export function methodCount(
  settings: DrainSettings,
  server: Pick<DrainedServer, 'mayLeaveCell'>,
): number {
  if (!settings.isUp) return 1
  const { live, cold, cell } = possibleMethods(settings, server)
  return settings.liveOnly ? live.length : live.length + cold.length + cell.length
}

/** When the rest will have moved, at the pace of the moves that have ended; undefined: none has. */
export function estimatedEnd(
  moves: readonly DrainMove<string>[],
  { remaining, parallel, now }: { remaining: number; parallel: number; now: Date },
): Date | undefined {
  const tookMs = moves.flatMap(({ state, startedAt, endedAt }) =>
    state === 'moved' && startedAt !== null && endedAt !== null
      ? [endedAt.getTime() - startedAt.getTime()]
      : [],
  )
  if (tookMs.length === 0) return undefined
  const meanMs = tookMs.reduce((sum, ms) => sum + ms, 0) / tookMs.length
  return new Date(now.getTime() + (meanMs * remaining) / parallel)
}
