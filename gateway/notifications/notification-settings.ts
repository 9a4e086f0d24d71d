import { addressesIn } from '#common/addresses.ts'
import type { EnvReader } from '#common/env.ts'
import type { Logger } from '#common/log.ts'
import type { NotificationSink } from '../app/notifications/notification.ts'
import { AmqpSink } from './amqp-sink.ts'
import { JetStreamSink } from './jetstream-sink.ts'

/** Where Nova's notifications are sent. */
export interface NotificationSettings {
  /** Of a NATS with JetStream, of each of its servers with commas between them; or of a RabbitMQ. */
  readonly url: string
  readonly credentialsFile: string | undefined
  /** Of a stream that is made. */
  readonly replicas: number
}

const NATS_SCHEMES = ['nats:', 'tls:']
const AMQP_SCHEMES = ['amqp:', 'amqps:']
const REPLICAS_MAX = 5

/** Reads GATEWAY_NOTIFICATIONS_* with a reader of GATEWAY_*; undefined: none are sent. */
export function readNotificationSettings(read: EnvReader): NotificationSettings | undefined {
  const url = read.optionalSecretOf('NOTIFICATIONS_URL', assertUrls)
  const credentialsFile = read.optionalText('NOTIFICATIONS_CREDENTIALS_FILE')
  const replicas = read.integer('NOTIFICATIONS_REPLICAS', 1, 1, REPLICAS_MAX)
  return url === undefined ? undefined : { url, credentialsFile, replicas }
}

export function openSink(settings: NotificationSettings, log: Logger): NotificationSink {
  const { protocol } = new URL(addressesIn(settings.url)[0]!)
  return NATS_SCHEMES.includes(protocol) ? new JetStreamSink(settings) : new AmqpSink(settings, log)
}

/** Throws an Error without the value, which may have a password in it. */
function assertUrls(text: string): void {
  const urls = addressesIn(text).map((each) => URL.parse(each))
  const [first] = urls
  const isAmqp = AMQP_SCHEMES.includes(first?.protocol ?? '')
  const schemes = isAmqp ? [first!.protocol] : NATS_SCHEMES
  const isKnown = first !== undefined && urls.every((url) => url && schemes.includes(url.protocol))
  if (!isKnown || (isAmqp && urls.length > 1))
    throw new Error(
      'needs one URL of a RabbitMQ (amqp, amqps), or those of the servers of a NATS (nats, tls), separated by commas',
    )
}
