import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { type BoxKeys, boxKeysOf } from './sealed-box.ts'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Keeps this key apart from others made of the same material. */
const INFO = 'weir sealed secrets v1'
const BOX_INFO = 'weir box keys v1'

/** Seals secrets that must be kept, so that a copy of the database alone does not tell them. */
export class Secrets {
  /** Made once: a key given as bytes costs more than sealing with it. */
  readonly #keys: ReadonlyMap<string, KeyObject>
  readonly #current: string

  /** Keys of 32 bytes. The first seals; the others still open what they sealed, until they are retired. */
  constructor(keys: readonly [Buffer, ...Buffer[]]) {
    for (const key of keys)
      if (key.length !== KEY_BYTES) throw new Error(`A secrets key must have ${KEY_BYTES} bytes`)
    this.#keys = new Map(keys.map((key) => [keyId(key), createSecretKey(key)]))
    this.#current = keyId(keys[0])
  }

  /** `v1.<key id>.<nonce, tag and text, base64url>`. `purpose` must be given again to open it. */
  seal(text: string, purpose: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#keys.get(this.#current)!, nonce)
    cipher.setAAD(Buffer.from(purpose))
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    const body = Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
    return `v1.${this.#current}.${body}`
  }

  /** Keys by which others seal secrets for who holds this one, always the same for a purpose; of each key that is held. */
  boxKeys(purpose: string): readonly [BoxKeys, ...BoxKeys[]] {
    const made = (id: string) => {
      const bytes = hkdfSync('sha256', this.#keys.get(id)!, purpose, BOX_INFO, KEY_BYTES)
      return boxKeysOf(Buffer.from(bytes))
    }
    const others = [...this.#keys.keys()].filter((id) => id !== this.#current)
    return [made(this.#current), ...others.map(made)]
  }

  /** Throws when it was not sealed here, for this purpose, with a key still held. */
  open(sealed: string, purpose: string): string {
    const [version, id, body] = sealed.split('.')
    const key = this.#keys.get(id ?? '')
    if (version !== 'v1' || key === undefined || body === undefined)
      throw new Error('A sealed secret cannot be opened with the keys configured')
    const bytes = Buffer.from(body, 'base64url')
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(purpose))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([text, decipher.final()]).toString('utf8')
  }
}

/** The form of a key in a configuration. */
export const SECRET_KEY = /^[0-9a-f]{64}$/i

/** The secrets of all that were given this key (as `SECRET_KEY` has it): the gateways of a deployment, or a cell. */
export function secretsOf(hexKey: string): Secrets {
  const material = Buffer.from(hexKey, 'hex')
  return new Secrets([Buffer.from(hkdfSync('sha256', material, '', INFO, KEY_BYTES))])
}

/** Names a key without telling anything about it. */
function keyId(key: Buffer): string {
  return createHash('sha256').update('weir key id\n').update(key).digest('hex').slice(0, 8)
}
