import { type Static, Type } from 'typebox'
import { Nullable } from './scalars.ts'

const Count = Type.Integer({ minimum: 0 })

/** The usage of a guest; null where its host has no figures. */
export const GuestFigures = Type.Object({
  /** Nova's number. */
  powerState: Type.Integer(),
  driver: Type.String(),
  hypervisor: Nullable(Type.String()),
  hypervisorOs: Nullable(Type.String()),
  /** Seconds. */
  uptime: Nullable(Count),
  hasConfigDrive: Type.Boolean(),
  memory: Type.Object({ maximumMb: Nullable(Count), usedMb: Nullable(Count) }),
  cpus: Type.Array(Type.Object({ id: Count, timeNs: Count, utilisation: Nullable(Count) })),
  nics: Type.Array(
    Type.Object({
      macAddress: Type.String(),
      rxOctets: Count,
      rxPackets: Count,
      rxErrors: Count,
      rxDrop: Count,
      txOctets: Count,
      txPackets: Count,
      txErrors: Count,
      txDrop: Count,
    }),
  ),
  disks: Type.Array(
    Type.Object({
      readBytes: Count,
      readRequests: Count,
      writeBytes: Count,
      writeRequests: Count,
      errors: Type.Integer(),
    }),
  ),
  /** All figures, and more, as the driver names them. */
  own: Type.Record(Type.String(), Type.Integer()),
})
export type GuestFigures = Static<typeof GuestFigures>
