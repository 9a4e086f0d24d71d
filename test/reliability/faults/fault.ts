import { createConnection } from 'mysql2/promise'
import type { SeededRandom } from '#test/env/random.ts'
import type { RelayMode } from '#test/env/relay.ts'
import type { Deployment } from '../deployment/deployment.ts'
import type { Member, MemberKind, ProgramMember, Wire } from '../deployment/member.ts'

/** Something that goes wrong, and is put right again after a while. */
export interface Fault {
  /** As the report counts it, such as `kill gateway`. */
  readonly kind: string
  /** The process or thing it happens to: one fault at a time has it. */
  readonly target: string
  readonly holdMs: number
  readonly begin: () => Promise<void> | void
  readonly end: () => Promise<void> | void
  /** Nothing may start it again before its end. */
  readonly down?: Member
}

const MS = {
  kill: 1_500,
  freeze: 5_000,
  cut: 4_000,
  fill: 3_000,
  lock: 4_000,
  clock: 4_000,
} as const
/** Clocks jump mostly by seconds, and sometimes by hours, as with a wrong time zone. */
const CLOCK_STEPS_MS = [-3_600_000, -60_000, -12_000, -3_000, 3_000, 12_000, 60_000, 3_600_000]
/** All but NATS, which asks the kernel itself for the time. */
const CLOCKED: readonly MemberKind[] = ['gateway', 'cell', 'compute', 'database']
const KILLED: readonly MemberKind[] = ['gateway', 'cell', 'compute', 'database', 'bus']

/** One of all that can go wrong, every kind as likely as the others. */
export function chooseFault(deployment: Deployment, random: SeededRandom): Fault {
  const { members, programs } = deployment
  const holdUpTo = (ms: number) => Math.ceil(100 + random.next() * (ms - 100))
  const some = <T extends Member>(from: readonly T[], kind: MemberKind) =>
    random.pick(from.filter((each) => each.kind === kind))
  const withDatabase: readonly MemberKind[] = ['gateway', 'cell']
  const programKinds: readonly MemberKind[] = ['gateway', 'cell', 'compute']
  const makers: readonly (() => Fault)[] = [
    ...KILLED.map((kind) => () => kill(some(members, kind), holdUpTo(MS.kill))),
    ...KILLED.map((kind) => () => freeze(some(members, kind), holdUpTo(MS.freeze))),
    ...programKinds.map(
      (kind) => () =>
        cut(some(programs, kind), ['bus', random.pick(['hold', 'refuse'])], holdUpTo(MS.cut)),
    ),
    ...withDatabase.map(
      (kind) => () =>
        cut(some(programs, kind), ['database', random.pick(['hold', 'refuse'])], holdUpTo(MS.cut)),
    ),
    ...CLOCKED.map(
      (kind) => () =>
        moveClock(some(members, kind), random.pick(CLOCK_STEPS_MS), holdUpTo(MS.clock)),
    ),
    () => fillDisk(deployment, holdUpTo(MS.fill)),
    () => lockTables(deployment, random, holdUpTo(MS.lock)),
  ]
  return random.pick(makers)()
}

function kill(member: Member, holdMs: number): Fault {
  return {
    kind: `kill ${member.kind}`,
    target: member.name,
    holdMs,
    begin: () => member.kill(),
    end: () => void member.keepUp(),
    down: member,
  }
}

function freeze(member: Member, holdMs: number): Fault {
  return {
    kind: `freeze ${member.kind}`,
    target: member.name,
    holdMs,
    begin: () => member.freeze(),
    end: () => member.thaw(),
  }
}

/** `hold`: packets are swallowed until the end of the fault, as by a broken network; `refuse`: connections break. */
function cut(
  member: ProgramMember,
  [wire, mode]: readonly [wire: Wire, mode: RelayMode],
  holdMs: number,
): Fault {
  const relay = member.wires.get(wire)
  return {
    kind: `cut ${member.kind} from ${wire}`,
    target: member.name,
    holdMs,
    begin: () => relay?.set(mode),
    end: () => relay?.set('pass'),
  }
}

function moveClock(member: Member, aheadMs: number, holdMs: number): Fault {
  return {
    kind: `move clock of ${member.kind}`,
    target: member.name,
    holdMs,
    begin: () => member.moveClock?.(aheadMs),
    end: () => member.moveClock?.(0),
  }
}

function fillDisk({ disk }: Deployment, holdMs: number): Fault {
  return {
    kind: 'fill disk of database',
    target: 'mariadb',
    holdMs,
    begin: () => disk.fill(),
    end: () => disk.empty(),
  }
}

/** All tables of one database are somebody else's for a while. */
function lockTables(deployment: Deployment, random: SeededRandom, holdMs: number): Fault {
  const { gateway, cells } = deployment.databases
  const database = random.pick([gateway, ...cells.map((cell) => cell.database)])
  let release: () => Promise<void> = () => Promise.resolve()
  return {
    kind: 'lock tables',
    target: 'mariadb',
    holdMs,
    begin: async () => {
      const connection = await createConnection({ uri: deployment.rootUrl(database) })
      // The connection may be cut by another fault, which frees the tables as well.
      connection.on('error', () => {})
      release = async () => connection.destroy()
      const [rows] = await connection.query('SHOW FULL TABLES WHERE Table_type = "BASE TABLE"')
      const tables = (rows as readonly object[]).map((row) => String(Object.values(row)[0]))
      const locks = tables.map((table) => `\`${table}\` WRITE`).join(', ')
      await connection.query(`LOCK TABLES ${locks}`)
    },
    end: () => release(),
  }
}
