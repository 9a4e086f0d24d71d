import { readFileSync } from 'node:fs'
import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { connect, credsAuthenticator, type NatsConnection, nanos } from '@nats-io/transport-node'
import { addressesIn } from '#common/addresses.ts'
import { encryptionTo } from '#common/bus/encryption.ts'
import type { Addressed, NotificationSink } from '../app/notifications/notification.ts'
import type { NotificationSettings } from './notification-settings.ts'

const STREAM = 'notifications'
/** Also of what no cell has yet: a token of a subject cannot be empty. */
const NO_CELL = '-'
const NOT_IN_TOKENS = /[^\w-]/g
const KEPT_MS = 7 * 86_400_000
/** In which the stream knows a notification that is sent again. */
const DUPLICATES_MS = 120_000
const TIMEOUT_MS = 5_000

/** `notifications.CELL.EVENT_TYPE`, such as `notifications.north.instance.create.end`. */
export function subjectOf({ cell, notification }: Addressed): string {
  return `${STREAM}.${cell?.replaceAll(NOT_IN_TOKENS, '_') ?? NO_CELL}.${notification.event_type}`
}

/** Keeps notifications in a stream of a NATS with JetStream, which is made where there is none. */
export class JetStreamSink implements NotificationSink {
  readonly #settings: NotificationSettings
  #open: { readonly nats: NatsConnection; readonly stream: JetStreamClient } | undefined

  constructor(settings: NotificationSettings) {
    this.#settings = settings
  }

  async send(addressed: Addressed): Promise<void> {
    const { stream } = await this.#connected()
    const { notification } = addressed
    try {
      await stream.publish(subjectOf(addressed), JSON.stringify(notification), {
        msgID: notification.message_id,
        timeout: TIMEOUT_MS,
        expect: { streamName: STREAM },
      })
    } catch (error) {
      // The stream may be gone: it is looked at again.
      await this.#close()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }

  async #connected() {
    if (this.#open !== undefined) return this.#open
    const nats = await this.#connect()
    try {
      await this.#makeStream(nats)
    } catch (error) {
      await nats.close()
      throw error
    }
    this.#open = { nats, stream: jetstream(nats) }
    return this.#open
  }

  #connect(): Promise<NatsConnection> {
    const { url, credentialsFile } = this.#settings
    const servers = addressesIn(url)
    const { username, password } = new URL(servers[0]!)
    const user = username === '' ? {} : { user: decodeURIComponent(username) }
    const pass = password === '' ? {} : { pass: decodeURIComponent(password) }
    return connect({
      servers: servers.map(withoutUser),
      name: 'weir notifications',
      timeout: TIMEOUT_MS,
      maxReconnectAttempts: -1,
      noAsyncTraces: true,
      ...encryptionTo(servers),
      ...user,
      ...pass,
      ...(credentialsFile !== undefined && {
        authenticator: credsAuthenticator(readFileSync(credentialsFile)),
      }),
    })
  }

  /** A stream that is there stays as its operator has set it. */
  async #makeStream(nats: NatsConnection): Promise<void> {
    const manager = await jetstreamManager(nats, { timeout: TIMEOUT_MS })
    try {
      await manager.streams.info(STREAM)
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== JetStreamApiCodes.StreamNotFound)
        throw error
      await manager.streams.add({
        name: STREAM,
        subjects: [`${STREAM}.>`],
        max_age: nanos(KEPT_MS),
        duplicate_window: nanos(DUPLICATES_MS),
        num_replicas: this.#settings.replicas,
      })
    }
  }

  async #close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.nats.close()
  }
}

function withoutUser(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}
