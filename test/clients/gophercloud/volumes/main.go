// Makes the calls of gophercloud, in their order, that programs make which keep volumes with it. Argument: csi or terraform.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack"
	"github.com/gophercloud/gophercloud/openstack/blockstorage/extensions/volumeactions"
	"github.com/gophercloud/gophercloud/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/volumeattach"
)

const (
	limitSeconds = 60
	pause        = 200 * time.Millisecond
)

// Cloud is what the steps of a walk share.
type Cloud struct {
	storage, compute *gophercloud.ServiceClient
	seen             map[string]interface{}
}

func main() {
	cloud := connect()
	walks := map[string]func(){"csi": cloud.asCSI, "terraform": cloud.asTerraform}
	walks[os.Args[1]]()
	must(json.NewEncoder(os.Stdout).Encode(cloud.seen))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		panic(err)
	}
}

func connect() *Cloud {
	provider, err := openstack.AuthenticatedClient(gophercloud.AuthOptions{
		IdentityEndpoint: os.Getenv("OS_AUTH_URL"),
		Username:         os.Getenv("OS_USERNAME"),
		Password:         os.Getenv("OS_PASSWORD"),
		TenantName:       os.Getenv("OS_PROJECT_NAME"),
		DomainID:         "default",
	})
	must(err)
	region := gophercloud.EndpointOpts{Region: os.Getenv("OS_REGION_NAME")}
	cloud := &Cloud{seen: map[string]interface{}{}}
	cloud.compute, err = openstack.NewComputeV2(provider, region)
	must(err)
	cloud.storage, err = openstack.NewBlockStorageV3(provider, region)
	must(err)
	return cloud
}

func (cloud *Cloud) volume(id string) *volumes.Volume {
	found, err := volumes.Get(cloud.storage, id).Extract()
	must(err)
	return found
}

// until returns once the volume is as wanted; an error ends the program at once.
func (cloud *Cloud) until(id string, isAsWanted func(*volumes.Volume) bool) *volumes.Volume {
	for deadline := time.Now().Add(limitSeconds * time.Second); ; time.Sleep(pause) {
		found := cloud.volume(id)
		if isAsWanted(found) {
			return found
		}
		if found.Status == "error" || time.Now().After(deadline) {
			must(fmt.Errorf("%s is %s, of %d GiB", found.Name, found.Status, found.Size))
		}
	}
}

func is(status string) func(*volumes.Volume) bool {
	return func(found *volumes.Volume) bool { return found.Status == status }
}

func heldBy(server string) func(*volumes.Volume) bool {
	return func(found *volumes.Volume) bool {
		return found.Status == "in-use" && len(found.Attachments) == 1 && found.Attachments[0].ServerID == server
	}
}

// gone returns once what is asked for is not found.
func gone(ask func() error) {
	must(gophercloud.WaitFor(limitSeconds, func() (bool, error) {
		err := ask()
		if _, isGone := err.(gophercloud.ErrDefault404); isGone {
			return true, nil
		}
		return false, err
	}))
}

func (cloud *Cloud) create(opts volumes.CreateOptsBuilder) *volumes.Volume {
	made, err := volumes.Create(cloud.storage, opts).Extract()
	must(err)
	return cloud.until(made.ID, is("available"))
}

func (cloud *Cloud) attach(server, id string) *volumeattach.VolumeAttachment {
	made, err := volumeattach.Create(cloud.compute, server, volumeattach.CreateOpts{VolumeID: id}).Extract()
	must(err)
	cloud.until(id, heldBy(server))
	return made
}

func (cloud *Cloud) detach(server, id string) {
	must(volumeattach.Delete(cloud.compute, server, id).ExtractErr())
	cloud.until(id, is("available"))
}

// extend is asked of Block Storage 3.42, as a volume that is used needs it.
func (cloud *Cloud) extend(id string, size int, status string) {
	cloud.storage.Microversion = "3.42"
	must(volumeactions.ExtendSize(cloud.storage, id, volumeactions.ExtendSizeOpts{NewSize: size}).ExtractErr())
	cloud.storage.Microversion = ""
	cloud.until(id, func(found *volumes.Volume) bool { return found.Status == status && found.Size == size })
}

func (cloud *Cloud) snapshot(opts snapshots.CreateOpts) *snapshots.Snapshot {
	made, err := snapshots.Create(cloud.storage, opts).Extract()
	must(err)
	must(snapshots.WaitForStatus(cloud.storage, made.ID, "available", limitSeconds))
	return made
}

func (cloud *Cloud) removeSnapshot(id string) {
	must(snapshots.Delete(cloud.storage, id).ExtractErr())
	gone(func() error { return snapshots.Get(cloud.storage, id).Err })
}

func (cloud *Cloud) remove(id string) {
	must(volumes.Delete(cloud.storage, id, nil).ExtractErr())
	gone(func() error { return volumes.Get(cloud.storage, id).Err })
}

// statusOf is the HTTP status of a request that was refused.
func statusOf(err error) int {
	switch refused := err.(type) {
	case gophercloud.ErrDefault400:
		return refused.Actual
	case gophercloud.ErrDefault404:
		return refused.Actual
	case gophercloud.ErrDefault409:
		return refused.Actual
	case gophercloud.ErrUnexpectedResponseCode:
		return refused.Actual
	}
	must(err)
	return 0
}
