import { Agent, request } from 'undici'
import { type ErrorKind, Failure } from '#common/errors.ts'
import { readJoinToken } from '#gateway/app/federation/join-token.ts'
import type { operations } from '#openapi/federation.gen.ts'
import { WIRE_VERSIONS } from '#openapi/wire.ts'
import { pinnedCertificate } from './pinned-certificate.ts'

/** The gateway's answer to a machine that may join. */
export type JoinAnswer = operations['join']['responses'][200]['content']['application/json']

type JoinRequest = operations['join']['requestBody']['content']['application/json']

export interface Exchanged {
  readonly answer: JoinAnswer
  /** The gateway's certificate, PEM, where the token names it: to be believed from then on. */
  readonly certificate: string | undefined
}

const CALL_LIMIT_MS = 15_000
const KINDS: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  401: 'unauthenticated',
  409: 'conflict',
  501: 'unsupported',
}
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * The public key may act as what the token names. Asking again with the same key is harmless. Throws what the gateway
 * says, `unavailable` when it does not answer, and `forbidden`, before the token is sent, when it is not the gateway
 * that made it or could be read on the way.
 */
export async function exchangeToken(
  gatewayUrl: string,
  token: string,
  publicKey: string,
): Promise<Exchanged> {
  const { pin } = readJoinToken(token)
  const url = new URL(gatewayUrl)
  assertPrivate(url, pin)
  const certificate = pin === undefined ? undefined : await pinnedCertificate(url, pin)
  const answered = await post(`${gatewayUrl}/federation/v1/join`, certificate, {
    token,
    public_key: publicKey,
    wire_versions: [...WIRE_VERSIONS],
  })
  const { status, answer } = answered
  if (status === 200) return { answer: answer as JoinAnswer, certificate }
  const { detail } = (answer ?? {}) as { readonly detail?: string }
  const message =
    detail ?? `${gatewayUrl} answered ${status}, as no gateway of Weir does. Check the address.`
  throw new Failure(KINDS[status] ?? 'unavailable', message)
}

async function post(
  url: string,
  ca: string | undefined,
  asked: JoinRequest,
): Promise<{ readonly status: number; readonly answer: unknown }> {
  const connect = { timeout: CALL_LIMIT_MS, ...(ca === undefined ? {} : { ca }) }
  const limits = { headersTimeout: CALL_LIMIT_MS, bodyTimeout: CALL_LIMIT_MS }
  const dispatcher = new Agent({ ...limits, connect })
  try {
    const { statusCode, body } = await request(url, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(asked),
    })
    return { status: statusCode, answer: await body.json().catch(() => undefined) }
  } catch (cause) {
    throw new Failure('unavailable', `${url} does not answer.`, { cause })
  } finally {
    await dispatcher.destroy()
  }
}

function assertPrivate({ protocol, hostname }: URL, pin: string | undefined): void {
  if (pin !== undefined && protocol !== 'https:')
    throw new Failure(
      'forbidden',
      'This token names a certificate: give the https URL it came with.',
    )
  if (protocol === 'https:' || LOOPBACK.has(hostname)) return
  throw new Failure(
    'forbidden',
    `A token is not sent in the clear to ${hostname}. Start the deployment with ./weir up --address, which serves https.`,
  )
}
