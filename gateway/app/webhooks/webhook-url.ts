import { isIP } from 'node:net'
import { Failure } from '#common/errors.ts'
import { isPublicAddress } from '#common/public-address.ts'
import { bareHost } from '../pinned-agent.ts'

/** What projects may do with webhooks, and how long deliveries are tried. */
export interface WebhookRules {
  /** Of each project. */
  readonly projectMax: number
  /** Address blocks that are allowed although they are not public. */
  readonly networks: readonly string[]
  /** From the first failed attempt until an event is given up. */
  readonly retryMs: number
  /** Of one attempt. */
  readonly timeoutMs: number
}

/** The URL, if events may be sent there; throws `invalid`. The addresses of its name are checked at each delivery. */
export function checkWebhookUrl(text: string, rules: Pick<WebhookRules, 'networks'>): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw refused('it is not an http or https URL')
  // The list shows it to every reader of the project.
  if (url.username !== '' || url.password !== '')
    throw refused('it holds credentials. The signature of each request proves its origin instead')
  if (isIP(bareHost(url)) !== 0) checkWebhookAddress(bareHost(url), rules)
  return url
}

/** Throws `invalid` for an address that is neither public nor in an allowed block: it may be one of the control plane. */
export function checkWebhookAddress(
  address: string,
  { networks }: Pick<WebhookRules, 'networks'>,
): void {
  if (isPublicAddress(address, networks)) return
  throw refused(
    `address ${address} is not public. Use a public address, or ask an operator to allow its network (GATEWAY_WEBHOOK_NETWORKS)`,
  )
}

function refused(why: string): Failure {
  return new Failure('invalid', `Events cannot be sent to this URL: ${why}.`)
}
