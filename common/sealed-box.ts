import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { Failure } from './errors.ts'

const CURVE = 'x25519'
const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const VERSION = 'x1'
/** Keeps keys that are made here apart from others made of the same material. */
const INFO = 'weir sealed box v1'
/** What stands before the 32 bytes of a private key of this curve (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b656e04220420', 'hex')

/** The two halves of a key: what is sealed for the public half is opened with the private one alone. */
export interface BoxKeys {
  /** As others are told it. */
  readonly publicKey: string
  readonly privateKey: KeyObject
}

/** The keys that follow from 32 secret bytes. */
export function boxKeysOf(secret: Buffer): BoxKeys {
  const key = Buffer.concat([PKCS8, secret])
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  return { privateKey, publicKey: textOf(createPublicKey(privateKey)) }
}

/** Seals a text for who has the private half. `purpose` must be given again to open it. Throws `invalid` for what is no public key. */
export function sealFor(publicKey: string, text: string, purpose: string): string {
  const theirs = keyOf(publicKey)
  const own = generateKeyPairSync(CURVE)
  const ownText = textOf(own.publicKey)
  const key = sharedKey({ privateKey: own.privateKey, publicKey: theirs }, ownText, publicKey)
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce)
  cipher.setAAD(Buffer.from(purpose))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  const body = Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
  return `${VERSION}.${ownText}.${body}`
}

/** Throws `invalid` for what was not sealed for these keys and this purpose. */
export function openWith(
  { privateKey, publicKey }: BoxKeys,
  sealed: string,
  purpose: string,
): string {
  const [version, sender = '', body = ''] = sealed.split('.')
  try {
    if (version !== VERSION) throw new Error('another version')
    const key = sharedKey({ privateKey, publicKey: keyOf(sender) }, sender, publicKey)
    const bytes = Buffer.from(body, 'base64url')
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(purpose))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([text, decipher.final()]).toString('utf8')
  } catch (cause) {
    throw new Failure('invalid', 'What was sealed for this cell cannot be opened.', { cause })
  }
}

function sharedKey(
  keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject },
  sender: string,
  receiver: string,
): Buffer {
  const salt = `${sender}.${receiver}`
  return Buffer.from(hkdfSync('sha256', diffieHellman(keys), salt, INFO, KEY_BYTES))
}

function textOf(publicKey: KeyObject): string {
  return publicKey.export({ format: 'der', type: 'spki' }).toString('base64url')
}

function keyOf(publicKey: string): KeyObject {
  try {
    const key = Buffer.from(publicKey, 'base64url')
    const found = createPublicKey({ key, format: 'der', type: 'spki' })
    if (found.asymmetricKeyType === CURVE) return found
  } catch {
    // Told below.
  }
  throw new Failure('invalid', 'The key of the other cell is none of this curve.')
}
