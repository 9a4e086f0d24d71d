import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { FairQueue, type QueueClient } from '../fair-queue.ts'
import { TooManyRequests } from '../request-limiter.ts'

/** OWASP's minimum for scrypt at r=8, p=1 with 16 MiB; about 40 ms of one core. */
const COST = { N: 2 ** 14, r: 8, p: 1, maxmem: 64 * 2 ** 20 } as const
const KEY_BYTES = 32
const SALT_BYTES = 16
/** Of libuv's four threads: file and DNS work of the process keeps the others. Logins leave half the processors to all else. */
const PARALLEL_MAX = availableParallelism() < 4 ? 1 : 2
/** More waiting hashes than this take longer than a client waits. */
const WAITING_MAX = 100
const WAITING_PER_ACCOUNT_MAX = 50
/** Those that wait have been hashed by then. */
const RETRY_AFTER_MS = 3_000

const scryptAsync = promisify(
  scrypt as (
    password: string,
    salt: Buffer,
    length: number,
    options: typeof COST,
    done: (error: Error | null, key: Buffer) => void,
  ) => void,
)
const queue = new FairQueue({
  parallelMax: PARALLEL_MAX,
  waitingMax: WAITING_MAX,
  waitingPerAccountMax: WAITING_PER_ACCOUNT_MAX,
  refusal: () =>
    new TooManyRequests(
      'Too many logins at once. Please try again in some seconds.',
      RETRY_AFTER_MS,
    ),
})
/** Users with a token, who set passwords and secrets, share one place among the peers. */
const KNOWN_USERS: QueueClient = { peer: 'users', account: 'users' }

/** The hash to store for a secret: parameters, a fresh salt and the key. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const key = await derive(password, salt, KNOWN_USERS)
  return `$scrypt$${COST.N}$${COST.r}$${COST.p}$${salt.toString('base64')}$${key.toString('base64')}`
}

/** True if the secret has this hash. Takes the same time for either result; throws `TooManyRequests` when too many checks wait. */
export async function verifyPassword(
  password: string,
  stored: string,
  asker: QueueClient,
): Promise<boolean> {
  const [, scheme, n, , , salt, key] = stored.split('$')
  if (scheme !== 'scrypt' || Number(n) !== COST.N || salt === undefined || key === undefined)
    throw new Error('a stored password hash has parameters this version does not know')
  const derived = await derive(password, Buffer.from(salt, 'base64'), asker)
  return timingSafeEqual(derived, Buffer.from(key, 'base64'))
}

/** A hash no password has, to be verified against for users that do not exist. */
export const DUMMY_HASH = `$scrypt$${COST.N}$${COST.r}$${COST.p}$${Buffer.alloc(SALT_BYTES).toString('base64')}$${Buffer.alloc(KEY_BYTES).toString('base64')}`

async function derive(password: string, salt: Buffer, asker: QueueClient): Promise<Buffer> {
  return queue.run(asker, () => scryptAsync(password.normalize('NFC'), salt, KEY_BYTES, COST))
}
