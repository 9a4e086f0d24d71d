import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { Logger } from '#common/log.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import { secretsOf } from '#common/secrets.ts'
import { EventTail } from './app/events/event-tail.ts'
import { sendNotifications } from './app/notifications/send-notifications.ts'
import { WebhookDelivery } from './app/webhooks/webhook-delivery.ts'
import type { WebhookDeps } from './app/webhooks/webhooks.ts'
import type { GatewayConfig } from './config.ts'
import { openSink } from './notifications/notification-settings.ts'

import { eventForProject } from './views/federation/event.ts'

/** What looks for new events when it is told. */
interface Wakeable {
  wake(): void
}

interface Numbered {
  /** There are new events. */
  numbered(): void
}

/** What gets events once they have a number. */
export interface EventReaders {
  readonly events: EventTail
  readonly webhooks: WebhookDeps & Wakeable & Numbered
  /** Lets all of them look for new events. */
  readonly onNumbered: () => void
}

/** Afterwards events reach those who watch them, webhooks, and the place for Nova's notifications. */
export function openEventReaders(
  parts: AsyncDisposableStack,
  config: GatewayConfig,
  db: Database,
  log: Logger,
): EventReaders {
  const { eventWatchersMax: watchersMax, eventProjectWatchersMax: projectWatchersMax } = config
  const limits = { watchersMax, projectWatchersMax }
  const events = parts.use(new EventTail({ db, clock: systemClock, log, ...limits }))
  const webhooks = openWebhooks(parts, config, db, log)
  const notifications = openNotifications(parts, config, db, log)
  const onNumbered = () => {
    for (const each of [events, notifications]) each.wake()
    webhooks.numbered()
  }
  return { events, webhooks, onNumbered }
}

/** Afterwards events are sent to webhooks, here or from another gateway. */
function openWebhooks(
  parts: AsyncDisposableStack,
  { secretKey, webhooks: rules, processName }: GatewayConfig,
  db: Database,
  log: Logger,
): WebhookDeps & Wakeable & Numbered {
  const deps = { db, secrets: secretsOf(secretKey), rules }
  const shown = eventForProject
  const options = { ...deps, clock: systemClock, log, processName, shown }
  const delivery = parts.use(new WebhookDelivery(options))
  return { ...deps, wake: () => delivery.wake(), numbered: () => delivery.numbered() }
}

/** Afterwards Nova's notifications are sent, here or from another gateway, where the settings name a place. */
function openNotifications(
  parts: AsyncDisposableStack,
  { notifications, processName }: GatewayConfig,
  db: Database,
  log: Logger,
): Wakeable {
  if (notifications === undefined) return { wake: () => {} }
  const sink = parts.use(openSink(notifications, log))
  const sending = sendNotifications({ db, clock: systemClock, log, sink, processName })
  return parts.use(new RunningReconciler(sending, systemClock, log))
}
