import type { NatsConnection } from '@nats-io/transport-node'
import { Counter, Gauge, type Registry } from 'prom-client'
import { withDeadline } from '../with-deadline.ts'
import { secondsSince } from './measure.ts'

const ANSWER_LIMIT_MS = 2_000

/** Afterwards the registry has whether the bus answers, how fast, and how much went over it. Each scrape asks it once. */
export function busMetrics(registry: Registry, nats: Pick<NatsConnection, 'rtt' | 'stats'>): void {
  const registers = [registry]
  const roundTrip = new Gauge({
    name: 'weir_bus_round_trip_seconds',
    help: 'Time of the last round trip to the bus',
    registers,
  })
  new Gauge({
    name: 'weir_bus_connected',
    help: 'Whether the bus answers this program',
    registers,
    async collect() {
      const startedAt = performance.now()
      try {
        await withDeadline(ANSWER_LIMIT_MS, nats.rtt())
        roundTrip.set(secondsSince(startedAt))
        this.set(1)
      } catch {
        this.set(0)
      }
    },
  })
  const labelNames = ['direction']
  new Counter({
    name: 'weir_bus_messages_total',
    help: 'Messages received from the bus (in), and sent (out)',
    labelNames,
    registers,
    collect() {
      this.reset()
      const { inMsgs, outMsgs } = nats.stats()
      this.inc({ direction: 'in' }, inMsgs)
      this.inc({ direction: 'out' }, outMsgs)
    },
  })
  new Counter({
    name: 'weir_bus_bytes_total',
    help: 'Bytes of these messages',
    labelNames,
    registers,
    collect() {
      this.reset()
      const { inBytes, outBytes } = nats.stats()
      this.inc({ direction: 'in' }, inBytes)
      this.inc({ direction: 'out' }, outBytes)
    },
  })
}
