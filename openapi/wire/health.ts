import { type Static, Type } from 'typebox'
import { OneOf } from './scalars.ts'

export const HEALTH_KINDS = [
  'gateway',
  'database',
  'bus',
  'cell',
  'feed',
  'queue',
  'operations',
  'certificate',
  'credential',
  'release',
  'clock',
] as const
export type HealthKind = (typeof HEALTH_KINDS)[number]

/** From well to worst. `degraded`: it works, and an operator should look. */
export const HEALTH_STATES = ['ok', 'degraded', 'failed'] as const
export type HealthState = (typeof HEALTH_STATES)[number]

/** One thing that was looked at. */
export const HealthCheck = Type.Object({
  kind: OneOf(HEALTH_KINDS),
  name: Type.String(),
  status: OneOf(HEALTH_STATES),
  reason: Type.String(),
})
export type HealthCheck = Static<typeof HealthCheck>

/** What a gateway answers another about itself. */
export const GatewayHealth = Type.Object({
  gateway: Type.String(),
  release: Type.String(),
  checks: Type.Array(HealthCheck),
})
export type GatewayHealth = Static<typeof GatewayHealth>
