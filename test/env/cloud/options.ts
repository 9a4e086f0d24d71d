import type { FakeDriver } from '#drivers/fake/driver.ts'
import type { TestServices } from '../services.ts'

/** The size and the settings of a test's cloud. */
export interface CloudOptions {
  readonly gateways?: number
  readonly cells?: number
  readonly processesPerCell?: number
  readonly hostsPerCell?: number
  /** Settings of every host's fake driver, such as `vcpus`. */
  readonly driver?: Readonly<Record<string, string>>
  /** More of them, by the name of the host. */
  readonly driverOf?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Called with each host's driver when it starts, which may get further parts. */
  readonly onDriver?: (driver: FakeDriver) => void
  /** More settings of every gateway, and of every cell process. */
  readonly gateway?: Readonly<Record<string, string>>
  readonly cell?: Readonly<Record<string, string>>
  /** The same of every host. */
  readonly compute?: Readonly<Record<string, string>>
  /** Which programs run as processes of their own. */
  readonly outside?: readonly ('gateway' | 'cell')[]
  /** Programs that no test kills or cuts off: without wires to the services they are faster. */
  readonly unwired?: readonly ('gateway' | 'host')[]
  /** Other services than those of the whole run: to kill them. */
  readonly services?: TestServices
}
