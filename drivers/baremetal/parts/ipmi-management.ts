import type { Bmc } from '../../ipmi/bmc.ts'
import { setBootOptions } from '../../ipmi/chassis.ts'
import { readSensors } from '../../ipmi/sensors.ts'
import type { Management } from './management.ts'

/** A machine whose boot device is set through its BMC. */
export function ipmiManagement(bmc: Bmc, usesEfi: boolean): Management {
  return {
    bootFrom: (where, signal) => {
      const device = where === 'disk' ? 'disk' : 'network'
      return setBootOptions(
        bmc,
        { device, isPersistent: where !== 'network-once', usesEfi },
        signal,
      )
    },
    sensors: (signal) => readSensors(bmc, signal),
  }
}
