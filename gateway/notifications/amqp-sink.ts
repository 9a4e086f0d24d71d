import { Connection, type Publisher } from 'rabbitmq-client'
import type { Logger } from '#common/log.ts'
import type { Addressed, NotificationSink } from '../app/notifications/notification.ts'
import type { NotificationSettings } from './notification-settings.ts'

/** As Nova names them: `control_exchange`, and the topic of `[notifications] versioned_notifications_topics`. */
const EXCHANGE = 'nova'
const TOPIC = 'versioned_notifications'
const PRIORITIES = ['info', 'error'] as const
const TIMEOUT_MS = 5_000

/**
 * Sends notifications to a RabbitMQ as oslo.messaging does, so that its listeners get them. Where a listener was not
 * there yet, the queue that it will read is made, and the notifications wait in it.
 */
export class AmqpSink implements NotificationSink {
  readonly #settings: NotificationSettings
  readonly #log: Logger
  #open: { readonly connection: Connection; readonly publisher: Publisher } | undefined

  constructor(settings: NotificationSettings, log: Logger) {
    this.#settings = settings
    this.#log = log
  }

  async send({ notification }: Addressed): Promise<void> {
    const { publisher } = await this.#connected()
    const { priority, message_id: _unique_id } = notification
    const message = JSON.stringify({ ...notification, _unique_id })
    const body = JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': message })
    const envelope = {
      exchange: EXCHANGE,
      routingKey: queueOf(priority.toLowerCase()),
      contentType: 'application/json',
      contentEncoding: 'utf-8',
      durable: true,
    }
    try {
      await publisher.send(envelope, Buffer.from(body))
    } catch (error) {
      await this.#close()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }

  async #connected() {
    if (this.#open !== undefined) return this.#open
    const { url } = this.#settings
    const connection = new Connection({
      url,
      acquireTimeout: TIMEOUT_MS,
      connectionTimeout: TIMEOUT_MS,
    })
    // Also each send fails, which is reported there.
    connection.on('error', (error) => this.#log.debug({ error: String(error) }, 'AMQP connection'))
    try {
      await this.#declare(connection)
    } catch (error) {
      connection.unsafeDestroy()
      throw error
    }
    const publisher = connection.createPublisher({ confirm: true, maxAttempts: 1 })
    this.#open = { connection, publisher }
    return this.#open
  }

  /** What is there is taken as it is: whether exchanges and queues are durable is a setting of their listeners. */
  async #declare(connection: Connection): Promise<void> {
    const exchange = { exchange: EXCHANGE, type: 'topic' } as const
    await connection
      .exchangeDeclare({ ...exchange, passive: true })
      .catch(() => connection.exchangeDeclare(exchange))
    for (const priority of PRIORITIES) {
      const queue = queueOf(priority)
      await connection
        .queueDeclare({ queue, passive: true })
        .catch(() => connection.queueDeclare({ queue, durable: false }))
      await connection.queueBind({ exchange: EXCHANGE, queue, routingKey: queue })
    }
  }

  async #close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return
    await open.publisher.close().catch(() => undefined)
    open.connection.unsafeDestroy()
  }
}

function queueOf(priority: string): string {
  return `${TOPIC}.${priority}`
}
