// A Vulkan layer that makes a driver fail: from call LAYER_AT on, counted from 1, the function that LAYER_FAILS names gives an
// error. For loss_layer_test.go; declarations are those of vulkan.h and vk_layer.h, as far as they are needed.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);
typedef function (*lookup)(void *, const char *);
typedef struct link {
	struct link *next;
	lookup instance, second; // second: of devices, in a device's chain
} link;
typedef struct chain {
	int type;
	struct chain *next;
	int kind;
	link *link;
} chain;

enum { INSTANCE_CHAIN = 47, DEVICE_CHAIN = 48, LINK = 0, OUT_OF_DEVICE_MEMORY = -2, DEVICE_LOST = -4, MAP_FAILED = -5 };

static lookup next_instance, next_device;
static void *the_instance;
static int calls;
static int (*real_submit)(void *, uint32_t, const void *, uint64_t);
static int (*real_allocate)(void *, const void *, const void *, void *);
static int (*real_map)(void *, uint64_t, uint64_t, uint64_t, uint32_t, void **);
static int (*real_counter)(void *, uint64_t, uint64_t *);

static int fails(const char *name) {
	const char *which = getenv("LAYER_FAILS"), *at = getenv("LAYER_AT");
	return which && at && !strcmp(which, name) && ++calls >= atoi(at);
}

static int submit(void *queue, uint32_t n, const void *info, uint64_t fence) {
	return fails("submit") ? DEVICE_LOST : real_submit(queue, n, info, fence);
}

static int allocate(void *device, const void *info, const void *callbacks, void *memory) {
	return fails("allocate") ? OUT_OF_DEVICE_MEMORY : real_allocate(device, info, callbacks, memory);
}

static int map(void *device, uint64_t memory, uint64_t offset, uint64_t size, uint32_t flags, void **to) {
	return fails("map") ? MAP_FAILED : real_map(device, memory, offset, size, flags, to);
}

static int counter(void *device, uint64_t semaphore, uint64_t *value) {
	return fails("poll") ? DEVICE_LOST : real_counter(device, semaphore, value);
}

static chain *find(const void *info, int type) {
	chain *c = ((chain *)info)->next;
	while (c && !(c->type == type && c->kind == LINK)) {
		c = c->next;
	}
	return c;
}

static int create_instance(const void *info, const void *callbacks, void **out) {
	chain *c = find(info, INSTANCE_CHAIN);
	next_instance = c->link->instance;
	c->link = c->link->next;
	int (*create)(const void *, const void *, void **) = (void *)next_instance(NULL, "vkCreateInstance");
	int result = create(info, callbacks, out);
	the_instance = *out;
	return result;
}

static int create_device(void *adapter, const void *info, const void *callbacks, void **out) {
	chain *c = find(info, DEVICE_CHAIN);
	lookup instance = c->link->instance;
	next_device = c->link->second;
	c->link = c->link->next;
	int (*create)(void *, const void *, const void *, void **) = (void *)instance(the_instance, "vkCreateDevice");
	return create(adapter, info, callbacks, out);
}

function vkGetDeviceProcAddr(void *device, const char *name) {
	if (!strcmp(name, "vkGetDeviceProcAddr")) {
		return (function)vkGetDeviceProcAddr;
	}
	function f = next_device(device, name);
	if (f && !strcmp(name, "vkQueueSubmit")) {
		real_submit = (void *)f;
		return (function)submit;
	}
	if (f && !strcmp(name, "vkAllocateMemory")) {
		real_allocate = (void *)f;
		return (function)allocate;
	}
	if (f && !strcmp(name, "vkMapMemory")) {
		real_map = (void *)f;
		return (function)map;
	}
	if (f && !strncmp(name, "vkGetSemaphoreCounterValue", 26)) {
		real_counter = (void *)f;
		return (function)counter;
	}
	return f;
}

function vkGetInstanceProcAddr(void *instance, const char *name) {
	if (!strcmp(name, "vkGetInstanceProcAddr")) {
		return (function)vkGetInstanceProcAddr;
	}
	if (!strcmp(name, "vkGetDeviceProcAddr")) {
		return (function)vkGetDeviceProcAddr;
	}
	if (!strcmp(name, "vkCreateInstance")) {
		return (function)create_instance;
	}
	if (!strcmp(name, "vkCreateDevice")) {
		return (function)create_device;
	}
	return next_instance ? next_instance(instance, name) : NULL;
}
