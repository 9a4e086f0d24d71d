/** Machines that stand in for each other. The amounts are those of the least of them. */
export interface MachineClass {
  /** Placement's name, such as `CUSTOM_GOLD`. */
  readonly resourceClass: string
  readonly total: number
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
}
