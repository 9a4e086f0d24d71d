import { join } from 'node:path'
import { Failure, isFailure } from '#common/errors.ts'
import { run } from '../../../run.ts'

/** A cluster whose storage is down answers nothing, and its programs wait for it. */
const TIMEOUT_MS = 20_000
/** Ceph tells every client that has an image open of its snapshots and size, and waits half a minute for one that has died. */
const TELLING_MS = 50_000
/** Copies of whole volumes, and the removal of what they hold. */
const LONG_MS = 4 * 3_600_000
const OUTPUT_BYTES_MAX = 32 * 1024 ** 2

/** errno(3), with which Ceph's programs end. */
export const EXIT = { notFound: 2, busy: 16, exists: 17, invalid: 22, notEmpty: 39 } as const

/** How a host's programs reach a pool of a cluster. */
export interface RbdClient {
  /** The folder of `rbd` and `ceph`; undefined: where programs usually are. */
  readonly programs: string | undefined
  /** The pool's name in the cluster. */
  readonly pool: string
  readonly configuration: string
  readonly user: string | undefined
}

export interface Ask {
  readonly signal: AbortSignal
  /** The work takes as long as there is data. */
  readonly isLong?: true
  /** Other clients may have the image open, and are told. */
  readonly tells?: true
}

/** Runs Ceph's `rbd`. Throws `unavailable` where the cluster does not answer in time. */
export function rbd(client: RbdClient, args: readonly string[], ask: Ask): Promise<string> {
  return ceph('rbd', client, args, ask)
}

/** The same, read as JSON. */
export async function rbdJson<T>(client: RbdClient, args: readonly string[], ask: Ask): Promise<T> {
  return JSON.parse(await rbd(client, [...args, '--format', 'json'], ask)) as T
}

/** Runs Ceph's `ceph` for what it does, not for what it says. */
export async function cephDo(client: RbdClient, args: readonly string[], ask: Ask): Promise<void> {
  await ceph('ceph', client, args, ask)
}

/** The same, and reads what it says as JSON. */
export async function cephJson<T>(
  client: RbdClient,
  args: readonly string[],
  ask: Ask,
): Promise<T> {
  return JSON.parse(await ceph('ceph', client, [...args, '--format', 'json'], ask)) as T
}

async function ceph(
  program: 'rbd' | 'ceph',
  { programs, configuration, user }: RbdClient,
  args: readonly string[],
  { signal, isLong, tells }: Ask,
): Promise<string> {
  const login = user === undefined ? [] : ['--id', user]
  const options = {
    timeoutMs: isLong === true ? LONG_MS : tells === true ? TELLING_MS : TIMEOUT_MS,
    outputBytesMax: OUTPUT_BYTES_MAX,
    signal,
  }
  const path = programs === undefined ? program : join(programs, program)
  try {
    return (await run(path, ['-c', configuration, ...login, ...args], options)).stdout
  } catch (error) {
    throw unreached(error)
  }
}

/** How the programs say that they have found no cluster, or are not let in. */
const UNREACHED = /couldn't connect to the cluster|[Ee]rror connecting to (the )?cluster/

function unreached(error: unknown): unknown {
  if (!isFailure(error, 'internal') || !UNREACHED.test(error.detail ?? '')) return error
  const { detail } = error
  return new Failure('unavailable', 'The Ceph cluster is not reached.', {
    cause: error,
    ...(detail !== undefined && { detail }),
  })
}

/** Whether a program has ended with one of these numbers. */
export function endedWith(error: unknown, ...codes: readonly number[]): error is Failure {
  return (
    isFailure(error, 'internal') && codes.some((code) => error.detail?.startsWith(`exit ${code}:`))
  )
}
