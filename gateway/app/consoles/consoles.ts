import type { ComputeDeps } from '../compute.ts'

/** What consoles need besides the compute core. */
export interface ConsoleSettings {
  /** How long a console may be opened after it was asked for, in seconds. */
  readonly tokenLifetimeS: number
  /** How many consoles of a project may be open at a time. */
  readonly openMax: number
}

export type Consoles = Pick<ComputeDeps, 'db' | 'cells' | 'askHost'> & ConsoleSettings
