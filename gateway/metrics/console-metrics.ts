import { Counter, Gauge, type Registry } from 'prom-client'
import type { ConsoleKind } from '../app/consoles/console-session.ts'

export interface ConsoleMetrics {
  opened(kind: ConsoleKind): void
  closed(kind: ConsoleKind): void
  /** With what status. */
  refused(status: number): void
  carried(way: 'shown' | 'typed', bytes: number): void
}

/** Afterwards the registry counts the consoles open at this gateway, those it refused, and their bytes. */
export function consoleMetrics(registry: Registry): ConsoleMetrics {
  const registers = [registry]
  const open = new Gauge({
    name: 'weir_consoles_open',
    help: 'Consoles open at this gateway',
    labelNames: ['kind'],
    registers,
  })
  const refused = new Counter({
    name: 'weir_consoles_refused_total',
    help: 'Consoles that were not opened',
    labelNames: ['status'],
    registers,
  })
  const bytes = new Counter({
    name: 'weir_console_bytes_total',
    help: 'Bytes that guests showed and users typed',
    labelNames: ['way'],
    registers,
  })
  return {
    opened: (kind) => open.inc({ kind }),
    closed: (kind) => open.dec({ kind }),
    refused: (status) => refused.inc({ status }),
    carried: (way, count) => bytes.inc({ way }, count),
  }
}
