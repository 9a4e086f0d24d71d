import { type CipherSuite, keyedHash } from './cipher-suites.ts'

/** What both sides know once random numbers are exchanged (IPMI 2.0, 13.20 to 13.23). */
export interface Handshake {
  readonly suite: CipherSuite
  readonly user: string
  readonly password: string
  /** The privilege asked for, with the flag that user and privilege are looked up together. */
  readonly role: number
  readonly consoleSession: number
  readonly bmcSession: number
  readonly consoleRandom: Uint8Array
  readonly bmcRandom: Uint8Array
  readonly bmcGuid: Uint8Array
}

/** The keys that sign and encrypt every packet of a session. */
export interface SessionKeys {
  readonly suite: CipherSuite
  readonly integrity: Uint8Array
  readonly encryption: Uint8Array
}

const PASSWORD_BYTES = 20
const KEY_CONSTANT_BYTES = 20
const AES_KEY_BYTES = 16

/** The code with which a BMC proves that it knows the password. */
export function bmcProof(handshake: Handshake): Buffer {
  const { suite, consoleSession, bmcSession, consoleRandom, bmcRandom, bmcGuid } = handshake
  return keyedHash(
    suite,
    passwordKey(handshake),
    sessionId(consoleSession),
    sessionId(bmcSession),
    consoleRandom,
    bmcRandom,
    bmcGuid,
    whoAsks(handshake),
  )
}

/** The code with which the console proves that it knows the password. */
export function consoleProof(handshake: Handshake): Buffer {
  const { suite, consoleSession, bmcRandom } = handshake
  const key = passwordKey(handshake)
  return keyedHash(suite, key, bmcRandom, sessionId(consoleSession), whoAsks(handshake))
}

/** The code with which a BMC proves that it derived the same keys. */
export function keyProof(handshake: Handshake): Buffer {
  const { suite, consoleRandom, bmcSession, bmcGuid } = handshake
  const proof = keyedHash(
    suite,
    sessionKey(handshake),
    consoleRandom,
    sessionId(bmcSession),
    bmcGuid,
  )
  return proof.subarray(0, suite.signatureBytes)
}

/** The keys K1 and K2 of IPMI 2.0, derived from the session integrity key. */
export function sessionKeys(handshake: Handshake): SessionKeys {
  const { suite } = handshake
  const derived = (constant: number) =>
    keyedHash(suite, sessionKey(handshake), Buffer.alloc(KEY_CONSTANT_BYTES, constant))
  return { suite, integrity: derived(1), encryption: derived(2).subarray(0, AES_KEY_BYTES) }
}

function sessionKey(handshake: Handshake): Buffer {
  const { suite, consoleRandom, bmcRandom } = handshake
  const key = passwordKey(handshake)
  return keyedHash(suite, key, consoleRandom, bmcRandom, whoAsks(handshake))
}

function passwordKey({ password }: Handshake): Buffer {
  const key = Buffer.alloc(PASSWORD_BYTES)
  key.write(password)
  return key
}

function whoAsks({ role, user }: Handshake): Buffer {
  const name = Buffer.from(user)
  return Buffer.concat([Buffer.from([role, name.length]), name])
}

function sessionId(id: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(id)
  return bytes
}
